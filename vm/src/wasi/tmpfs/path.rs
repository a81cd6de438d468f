//! From a path to a node. Nothing leads out of the directory at which a path begins: EPERM, as on the host.

use super::super::args::Result;
use super::super::errno::Errno;
use super::tree::{Kind, Tree};

/// Most bytes of a name, and of a path, as on Linux.
const MOST_NAME: usize = 255;
const MOST_PATH: usize = 4096;
/// Most symbolic links on the way.
const MOST_LINKS: u32 = 40;

/// Where a path leads.
pub struct Place {
    /// The directory in which its last name is.
    pub directory: u64,
    /// The last name; `None` if the path ends with `.` or `..`, or is the directory itself.
    pub name: Option<String>,
    /// What has that name.
    pub inode: Option<u64>,
    /// The path ends with a slash: it must be a directory.
    pub slash: bool,
}

impl Place {
    /// What is there.
    ///
    /// # Errors
    /// ENOENT if nothing is.
    pub fn found(&self) -> Result<u64> {
        self.inode.ok_or(Errno::Noent)
    }
}

impl Tree {
    /// Goes along a path from directory `base`. If `follow`, a symbolic link at its end is followed too.
    pub fn walk(&self, base: u64, path: &str, follow: bool) -> Result<Place> {
        if path.is_empty() {
            return Err(Errno::Noent);
        }
        if path.len() >= MOST_PATH {
            return Err(Errno::Nametoolong);
        }
        if path.contains('\0') {
            return Err(Errno::Inval);
        }
        let mut stack = vec![base];
        let mut rest = parts(path);
        let mut slash = path.ends_with('/');
        if path.starts_with('/') {
            return Err(Errno::Perm);
        }
        let mut links = 0;
        while let Some(part) = rest.pop() {
            let directory = stack[stack.len() - 1];
            let last = rest.is_empty();
            match part.as_str() {
                "." => continue,
                ".." => {
                    if stack.len() == 1 {
                        return Err(Errno::Perm);
                    }
                    stack.pop();
                    continue;
                }
                _ => {}
            }
            if part.len() > MOST_NAME {
                return Err(Errno::Nametoolong);
            }
            let inode = self.entries(directory)?.get(&part).copied();
            let Some(found) = inode else {
                if !last {
                    return Err(Errno::Noent);
                }
                return Ok(Place {
                    directory,
                    name: Some(part),
                    inode,
                    slash,
                });
            };
            match &self.node(found).kind {
                Kind::Link(target) if !last || follow || slash => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::Loop);
                    }
                    if target.starts_with('/') {
                        return Err(Errno::Perm);
                    }
                    slash |= last && target.ends_with('/');
                    rest.extend(parts(target));
                }
                Kind::Directory { .. } if !last => stack.push(found),
                _ if !last => return Err(Errno::Notdir),
                _ => {
                    return Ok(Place {
                        directory,
                        name: Some(part),
                        inode,
                        slash,
                    });
                }
            }
        }
        let directory = stack[stack.len() - 1];
        Ok(Place {
            directory,
            name: None,
            inode: Some(directory),
            slash: true,
        })
    }

    /// The node at a path.
    ///
    /// # Errors
    /// ENOENT if there is none, ENOTDIR if the path asks for a directory.
    pub fn find(&self, base: u64, path: &str, follow: bool) -> Result<u64> {
        let place = self.walk(base, path, follow)?;
        let inode = place.found()?;
        if place.slash {
            self.entries(inode)?;
        }
        Ok(inode)
    }
}

/// The parts of a path, the first at the end.
fn parts(path: &str) -> Vec<String> {
    path.rsplit('/')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}
