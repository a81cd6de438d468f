//! `path_open`.

use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};

use super::abi::{fdflags, lookup, oflags, rights};
use super::args::{Args, Result, text};
use super::dir::Directory;
use super::errno::Errno;
use super::file::{File, Mode};
use super::place::Tree;
use super::stat::DIRECTORY_FLAGS;
use super::table::Descriptor;
use super::tmpfs::{Node, Open, Opened};
use super::{Wasi, results, tmpfs};
use crate::layout::TMPFS_TRUNCATE;
use crate::{CacheHint, HostReply};

impl Wasi {
    /// Opening a named pipe waits for its other end, as on the host, unless `NONBLOCK` is set.
    pub(super) fn path_open(&self, args: &mut Args<'_>) -> Result<HostReply> {
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

        let how = Open {
            follow: lookup & lookup::SYMLINK_FOLLOW != 0,
            read: mode.read,
            write: mode.write,
            create,
            exclusive: oflags & oflags::EXCL != 0,
            truncate: oflags & oflags::TRUNC != 0,
        };
        let (opened, note) = match &directory.tree {
            // It may have to wait: if the run ends meanwhile, all that is seen of it is a file that was made or cut.
            Tree::Host(dir) => {
                args.unless_ended(|| Ok(()))?;
                self.open_host(dir, path, how, mode)?
            }
            Tree::Tmpfs(node) => args.unless_ended(|| self.open_tmpfs(node, path, how, mode))?,
        };
        if oflags & oflags::DIRECTORY != 0 && !matches!(opened, Descriptor::Directory(_)) {
            return Err(Errno::Notdir);
        }
        let limit = match note {
            CacheHint::Memory(_) => tmpfs::DESCRIPTORS,
            _ => u32::MAX,
        };
        let fd = self.table.insert_below(limit, args.run, opened)?;
        Ok(HostReply {
            note,
            ..results(&fd.to_le_bytes())
        })
    }

    /// Whether opening may wait for another party: for the other end of a named pipe, or for a device. The file may be
    /// another one when it is opened, but guests cannot make such files, nor gain by that.
    pub(super) fn open_may_wait(&self, args: &mut Args<'_>) -> Result<bool> {
        let fd = args.u32()?;
        args.skip()?;
        let path = args.bytes()?;
        // The flags for opening, and the rights.
        for _ in 0..3 {
            args.skip()?;
        }
        if args.flags16(fdflags::ALL)? & fdflags::NONBLOCK != 0 {
            return Ok(false);
        }
        let descriptor = self.table.get(fd)?;
        let Tree::Host(dir) = &descriptor.directory()?.tree else {
            return Ok(false);
        };
        let kind = dir.metadata(text(path)?)?.file_type();
        Ok(!kind.is_file() && !kind.is_dir())
    }

    fn open_host(&self, dir: &Dir, path: &str, how: Open, mode: Mode) -> Result<(Descriptor, CacheHint)> {
        let mut options = OpenOptions::new();
        options.read(mode.read).write(mode.write).truncate(how.truncate);
        match how.exclusive {
            true => options.create_new(how.create),
            false => options.create(how.create),
        };
        options.follow(match how.follow {
            true => FollowSymlinks::Yes,
            false => FollowSymlinks::No,
        });
        options
            .sync(mode.flags & fdflags::SYNC != 0)
            .dsync(mode.flags & fdflags::DSYNC != 0)
            .rsync(mode.flags & fdflags::RSYNC != 0)
            .nonblock(mode.flags & fdflags::NONBLOCK != 0);
        let file = dir.open_with(path, &options)?;
        let metadata = file.metadata()?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            let tree = Tree::Host(Arc::new(Dir::from_std_file(file.into_std())));
            return Ok((opened_directory(tree, mode), CacheHint::None));
        }
        let shared = kind
            .is_file()
            .then(|| self.sharing.open((metadata.dev(), metadata.ino()), mode.write));
        let (share, note) = shared.unzip();
        // Files of the kernel, such as those of /proc, have no size. Not all of them can be read at an offset.
        let note = note.filter(|note| *note != CacheHint::Position || metadata.len() > 0);
        let file = File::new(file.into_std(), kind, mode, share)?;
        Ok((Descriptor::File(file), note.unwrap_or_default()))
    }

    fn open_tmpfs(&self, node: &Node, path: &str, how: Open, mode: Mode) -> Result<(Descriptor, CacheHint)> {
        Ok(match node.open(path, how)? {
            Opened::Directory(node) => (opened_directory(Tree::Tmpfs(node), mode), CacheHint::None),
            Opened::File(file) => {
                let (share, note) = self.sharing.open(file.node().id(), mode.write);
                let cuts = if how.truncate { TMPFS_TRUNCATE } else { 0 };
                let target = file.target(tmpfs::append_flag(mode.flags) | cuts);
                let note = target.map_or(note, CacheHint::Memory);
                (Descriptor::File(File::tmpfs(file, mode, share)), note)
            }
        })
    }
}

fn opened_directory(tree: Tree, mode: Mode) -> Descriptor {
    Descriptor::Directory(Directory::new(tree, None, mode.read_only, mode.flags & DIRECTORY_FLAGS))
}
