//! Device memory for files whose data the device holds while a run is under way: see `kernel/rpc/tmpfs.h`. Before the
//! run the data goes there, and after the run it comes back.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytemuck::Zeroable;

use super::run::Sized;
use crate::device::{Device, DeviceError, DeviceResult, Pinned};
use crate::layout::{
    self, Ptr, TMPFS_APPEND, TMPFS_BLOCK, TMPFS_DESCRIPTORS, TMPFS_DIRECT, TMPFS_ENTRIES, TMPFS_FLAG_SHIFT,
    TmpfsAttributes, TmpfsDescriptor, TmpfsInode,
};
use crate::services::{Closed, Services};
use crate::wasi::{Attributes, DEVICE_NUMBER, LentFile, Pages};

/// For so many blocks for data there is one more for indices. So files without holes have enough: none needs an index
/// that has fewer pages. Files with holes take what else they need of those for data.
const INDEX_SHARE: u64 = TMPFS_DIRECT as u64;
/// Blocks for indices of files with holes.
const INDEX_LEAST: u64 = 64;
/// Bytes that are copied at once.
const AT_ONCE: usize = 1 << 20;
/// What the memory is called.
const WHAT: &str = "files in memory";

/// Device memory for files.
pub(super) struct Area {
    record: Sized,
    blocks: Sized,
    taken: Sized,
    inodes: Sized,
    descriptors: Sized,
    /// [`TmpfsAttributes`], and how many there are.
    attributes: Option<(Pinned, u32)>,
}

/// That the device has files' data, until it is dropped: what has not come back by then is lost.
pub(super) struct DeviceLease {
    services: Arc<dyn Services>,
    /// It was ended already: another may have begun since.
    ended: Cell<bool>,
}

impl DeviceLease {
    /// Ends it with what came back.
    fn end(&self, back: HashMap<u32, Pages>) {
        if let (false, Some(files)) = (self.ended.replace(true), self.services.tmpfs_files()) {
            files.end_loan(back);
        }
    }
}

impl Drop for DeviceLease {
    fn drop(&mut self) {
        self.end(HashMap::new());
    }
}

/// Files as the device is to have them: numbers of blocks from 0 on.
#[derive(Default)]
struct Image {
    /// Blocks for data, and after them those for indices.
    bytes: Vec<u8>,
    /// Where `bytes` begins, in bytes from the first block on.
    at: u64,
    data: u64,
    index: u64,
}

impl Area {
    pub(super) fn new() -> Area {
        Area {
            record: Sized::new(WHAT),
            blocks: Sized::new(WHAT),
            taken: Sized::new(WHAT),
            inodes: Sized::new(WHAT),
            descriptors: Sized::new(WHAT),
            attributes: None,
        }
    }

    /// Has the device hold the data of the services' files, if they have any. Returns the record of it.
    pub(super) fn lend(
        &mut self,
        device: &mut dyn Device,
        services: &Arc<dyn Services>,
    ) -> DeviceResult<Option<(Ptr, DeviceLease)>> {
        let Some(files) = services.tmpfs_files() else {
            return Ok(None);
        };
        let inodes = files.inodes();
        let attributes = self.attributes(device, inodes)?;
        // SAFETY: there are as many, and aligned, as pages of memory are; they live as long as the device, and the
        // lease ends before.
        let shared = unsafe { Attributes::new(attributes.host.cast::<TmpfsAttributes>()) };
        let lent = files.lend(shared, inodes);
        let (pages, lent) = lent.map_err(|what| DeviceError::Unavailable { what: what.into() })?;
        let lease = DeviceLease {
            services: services.clone(),
            ended: Cell::new(false),
        };
        let index: usize = lent
            .iter()
            .map(|file| levels(file).map(|level| level.len()).sum::<usize>())
            .sum();
        let index = pages / INDEX_SHARE + INDEX_LEAST + index as u64;
        let blocks = pages + index;
        if let Err(error) = self.allocate(device, blocks, inodes) {
            // It is still where it was.
            lease.end(lent.into_iter().map(|file| (file.inode, file.pages)).collect());
            return Err(error);
        }
        let (at, words) = (self.blocks.ptr, words_for(blocks));
        let mut image = Image::default();
        for file in lent {
            let (number, inode) = (file.inode, image.add(device, at, file)?);
            let to = self.inodes.ptr + u64::from(number) * size_of::<TmpfsInode>() as u64;
            // SAFETY: inside: the tree has given it one of so many inodes.
            unsafe { device.write(to, bytemuck::bytes_of(&inode))? };
        }
        image.flush(device, at)?;
        let used = image.data + image.index;
        let bits: Vec<u32> = (0..words)
            .map(|word| {
                let bit = |bit: u64| u32::from(word * 32 + bit < used || word * 32 + bit >= blocks) << bit;
                (0..32).map(bit).sum()
            })
            .collect();
        let description = layout::Tmpfs {
            blocks: at,
            taken: self.taken.ptr,
            inodes: self.inodes.ptr,
            descriptors: self.descriptors.ptr,
            attributes: attributes.device,
            device: DEVICE_NUMBER,
            words: words as u32,
            free_data: (pages - image.data) as u32,
            free_index: (index - image.index) as u32,
            most_index: index as u32,
            cursor: 0,
            pad: 0,
        };
        // SAFETY: allocated above with these sizes; open files have descriptors below the most.
        unsafe {
            device.write(self.taken.ptr, bytemuck::cast_slice(&bits))?;
            device.write(self.record.ptr, bytemuck::bytes_of(&description))?;
            for open in files.open_files() {
                let descriptor = TmpfsDescriptor {
                    target: open.target,
                    position: open.offset,
                    ..Zeroable::zeroed()
                };
                if (open.descriptor as usize) < TMPFS_DESCRIPTORS {
                    let to = u64::from(open.descriptor) * size_of::<TmpfsDescriptor>() as u64;
                    device.write(self.descriptors.ptr + to, bytemuck::bytes_of(&descriptor))?;
                }
            }
        }
        Ok(Some((self.record.ptr, lease)))
    }

    /// Has memory for so many blocks and inodes; the latter, and descriptors, are zeroed.
    fn allocate(&mut self, device: &mut dyn Device, blocks: u64, inodes: u32) -> DeviceResult<()> {
        if blocks >= u64::from(u32::MAX) {
            return Err(DeviceError::OutOfMemory {
                device: device.name(),
                bytes: blocks.saturating_mul(TMPFS_BLOCK as u64),
                what: WHAT,
            });
        }
        let descriptor_bytes = (TMPFS_DESCRIPTORS * size_of::<TmpfsDescriptor>()) as u64;
        let inode_bytes = u64::from(inodes) * size_of::<TmpfsInode>() as u64;
        self.record.at_least(device, size_of::<layout::Tmpfs>() as u64)?;
        self.blocks.at_least(device, blocks * TMPFS_BLOCK as u64)?;
        self.taken.at_least(device, words_for(blocks) * 4)?;
        let inodes = self.inodes.at_least(device, inode_bytes)?;
        let descriptors = self.descriptors.at_least(device, descriptor_bytes)?;
        // SAFETY: just allocated with these sizes; no kernel runs.
        unsafe {
            device.clear(inodes, inode_bytes)?;
            device.clear(descriptors, descriptor_bytes)
        }
    }

    /// Zeroed memory for what host and device tell each other of so many inodes.
    fn attributes(&mut self, device: &mut dyn Device, inodes: u32) -> DeviceResult<Pinned> {
        let bytes = u64::from(inodes) * size_of::<TmpfsAttributes>() as u64;
        if let Some((pinned, count)) = self.attributes
            && count >= inodes
        {
            // SAFETY: as large, and in no use: no lease is under way.
            unsafe { std::ptr::write_bytes(pinned.host, 0, bytes as usize) };
            return Ok(pinned);
        }
        let pinned = device.allocate_pinned(bytes)?;
        self.attributes = Some((pinned, inodes));
        Ok(pinned)
    }

    /// Brings the data back where it was. The run has ended; `closed` is what its calls have closed.
    pub(super) fn bring_back(
        &mut self,
        device: &mut dyn Device,
        lease: &DeviceLease,
        closed: &Closed,
    ) -> DeviceResult<()> {
        let Some(files) = lease.services.tmpfs_files() else {
            return Ok(());
        };
        let mut back = HashMap::new();
        for number in files.lent_inodes() {
            let mut inode = TmpfsInode::zeroed();
            let from = self.inodes.ptr + u64::from(number) * size_of::<TmpfsInode>() as u64;
            // SAFETY: one of the inodes; no kernel runs.
            unsafe { device.read(from, bytemuck::bytes_of_mut(&mut inode))? };
            back.insert(number, self.pages(device, &inode)?);
        }
        for open in files.open_files() {
            if open.descriptor as usize >= TMPFS_DESCRIPTORS {
                continue;
            }
            let mut descriptor = TmpfsDescriptor::zeroed();
            let from = self.descriptors.ptr + u64::from(open.descriptor) * size_of::<TmpfsDescriptor>() as u64;
            // SAFETY: one of the descriptors; no kernel runs.
            unsafe { device.read(from, bytemuck::bytes_of_mut(&mut descriptor))? };
            // None, while the host was asked to close or move it: if it has not, the file is the one it was.
            let target = match descriptor.target {
                0 if !closed.contains(open.descriptor) => descriptor.moved,
                target => target,
            };
            // The host may have set the flag that the device does not know of yet.
            const APPEND: u64 = (TMPFS_APPEND as u64) << TMPFS_FLAG_SHIFT;
            if (target ^ open.target) & !APPEND == 0 {
                files.set_offset(&open, descriptor.position);
            }
        }
        lease.end(back);
        Ok(())
    }

    /// All pages of a file.
    fn pages(&self, device: &mut dyn Device, inode: &TmpfsInode) -> DeviceResult<Pages> {
        let direct = (0u64..).zip(inode.direct);
        let mut found: Vec<(u64, u32)> = direct.filter(|(_, block)| *block != 0).collect();
        let mut nodes = match inode.root {
            0 => vec![],
            root => vec![(0u64, root)],
        };
        for _ in 0..inode.levels {
            let mut below = Vec::new();
            for (number, block) in nodes {
                let mut entries = vec![0u32; TMPFS_ENTRIES];
                // SAFETY: a block that the tree names; no kernel runs.
                unsafe { device.read(self.block(block), bytemuck::cast_slice_mut(&mut entries))? };
                let numbers = number * TMPFS_ENTRIES as u64..;
                below.extend(numbers.zip(entries).filter(|(_, block)| *block != 0));
            }
            nodes = below;
        }
        found.extend(nodes);
        let mut pages = BTreeMap::new();
        // What lies side by side comes at once.
        for run in found.chunk_by(|a, b| a.1 + 1 == b.1) {
            for run in run.chunks(AT_ONCE / TMPFS_BLOCK) {
                let mut bytes = vec![0; run.len() * TMPFS_BLOCK];
                // SAFETY: as above.
                unsafe { device.read(self.block(run[0].1), &mut bytes)? };
                for ((number, _), page) in run.iter().zip(bytes.chunks_exact(TMPFS_BLOCK)) {
                    pages.insert(*number, Box::new(std::array::from_fn(|at| page[at])));
                }
            }
        }
        Ok(pages)
    }

    /// Where a block lies, as trees name it: 1 + its number.
    fn block(&self, block: u32) -> Ptr {
        self.blocks.ptr + u64::from(block - 1) * TMPFS_BLOCK as u64
    }
}

/// Words with a bit for each block.
fn words_for(blocks: u64) -> u64 {
    blocks.div_ceil(32)
}

/// The numbers of a file's index blocks in each level, from below, as many levels as its highest page needs.
fn levels(file: &LentFile) -> impl Iterator<Item = Vec<u64>> {
    let pages = file.pages.range(TMPFS_DIRECT as u64..).map(|(number, _)| *number);
    let mut below: Vec<u64> = pages.collect();
    let mut over = below.is_empty();
    std::iter::from_fn(move || {
        if over {
            return None;
        }
        below.iter_mut().for_each(|number| *number /= TMPFS_ENTRIES as u64);
        below.dedup();
        over = below == [0];
        Some(below.clone())
    })
}

impl Image {
    /// Adds a block, and returns how trees name it.
    fn push(&mut self, device: &mut dyn Device, blocks: Ptr, block: &[u8]) -> DeviceResult<u32> {
        self.bytes.extend_from_slice(block);
        let number = (self.at + self.bytes.len() as u64) / TMPFS_BLOCK as u64;
        if self.bytes.len() >= AT_ONCE {
            self.flush(device, blocks)?;
        }
        Ok(number as u32)
    }

    fn flush(&mut self, device: &mut dyn Device, blocks: Ptr) -> DeviceResult<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: there are as many blocks as the files need; no kernel runs.
        unsafe { device.write(blocks + self.at, &self.bytes)? };
        self.at += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }

    /// Adds a file.
    fn add(&mut self, device: &mut dyn Device, blocks: Ptr, file: LentFile) -> DeviceResult<TmpfsInode> {
        let levels: Vec<Vec<u64>> = levels(&file).collect();
        let mut inode = TmpfsInode {
            size: file.size,
            levels: levels.len() as u32,
            ..Zeroable::zeroed()
        };
        let mut below = Vec::new();
        for (number, page) in file.pages {
            let block = self.push(device, blocks, &page[..])?;
            self.data += 1;
            match inode.direct.get_mut(number as usize) {
                Some(direct) => *direct = block,
                None => below.push((number, block)),
            }
        }
        for level in levels {
            let mut entries = below.into_iter().peekable();
            below = Vec::new();
            for number in level {
                let mut index = vec![0u32; TMPFS_ENTRIES];
                while let Some((child, block)) = entries.next_if(|(child, _)| child / TMPFS_ENTRIES as u64 == number) {
                    index[(child % TMPFS_ENTRIES as u64) as usize] = block;
                }
                below.push((number, self.push(device, blocks, bytemuck::cast_slice(&index))?));
                self.index += 1;
            }
        }
        inode.root = below.first().map_or(0, |(_, block)| *block);
        Ok(inode)
    }
}
