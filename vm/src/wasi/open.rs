//! `path_open`.

use cap_fs_ext::{FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};

use super::abi::{fdflags, lookup, oflags, rights};
use super::args::{Args, Result, text};
use super::dir::Directory;
use super::errno::Errno;
use super::file::{File, Mode};
use super::stat::DIRECTORY_FLAGS;
use super::table::Descriptor;
use super::{Wasi, results};
use crate::{FileNote, Reply};

impl Wasi {
    /// Opening a named pipe waits for its other end, as on the host, unless `NONBLOCK` is set.
    pub(super) fn path_open(&self, args: &mut Args<'_>) -> Result<Reply> {
        let fd = args.u32()?;
        let lookup = args.flags32(lookup::ALL)?;
        let path = args.bytes()?;
        let oflags = args.flags16(oflags::ALL)?;
        let base = args.flags64(rights::ALL)?;
        // Rights of what is opened through it: it has them all.
        args.flags64(rights::ALL)?;
        let fdflags = args.flags16(fdflags::ALL)?;
        let path = text(path)?;

        let descriptor = self.table.get(fd)?;
        let directory = match &*descriptor {
            Descriptor::Directory(directory) => directory,
            Descriptor::File(_) => return Err(Errno::Notdir),
            _ => return Err(Errno::Badf),
        };
        if oflags & oflags::DIRECTORY != 0 && oflags != oflags::DIRECTORY {
            return Err(Errno::Inval);
        }
        let create = oflags & oflags::CREAT != 0;
        let write = base & rights::FD_WRITE != 0;
        let mode = Mode {
            // A host file must be open for something: what asks for nothing may read.
            read: base & rights::FD_READ != 0 || !write,
            write: write || create || oflags & oflags::TRUNC != 0,
            read_only: directory.read_only,
            flags: fdflags,
        };
        if mode.write && directory.read_only {
            return Err(Errno::Perm);
        }

        let mut options = OpenOptions::new();
        options
            .read(mode.read)
            .write(mode.write)
            .truncate(oflags & oflags::TRUNC != 0);
        match oflags & oflags::EXCL != 0 {
            true => options.create_new(create),
            false => options.create(create),
        };
        options.follow(match lookup & lookup::SYMLINK_FOLLOW != 0 {
            true => FollowSymlinks::Yes,
            false => FollowSymlinks::No,
        });
        options
            .sync(fdflags & fdflags::SYNC != 0)
            .dsync(fdflags & fdflags::DSYNC != 0)
            .rsync(fdflags & fdflags::RSYNC != 0)
            .nonblock(fdflags & fdflags::NONBLOCK != 0);

        let file = directory.dir.open_with(path, &options)?;
        let metadata = file.metadata()?;
        let kind = metadata.file_type();
        let mut note = FileNote::None;
        let opened = if kind.is_dir() {
            let dir = Dir::from_std_file(file.into_std());
            Descriptor::Directory(Directory::new(
                dir,
                None,
                directory.read_only,
                fdflags & DIRECTORY_FLAGS,
            ))
        } else if oflags & oflags::DIRECTORY != 0 {
            return Err(Errno::Notdir);
        } else {
            let share = kind.is_file().then(|| {
                let (share, means) = self.sharing.open((metadata.dev(), metadata.ino()), mode.write);
                note = means;
                share
            });
            Descriptor::File(File::new(file.into_std(), kind, mode, share)?)
        };
        let fd = self.table.insert(opened)?;
        Ok(Reply {
            note,
            ..results(&fd.to_le_bytes())
        })
    }
}
