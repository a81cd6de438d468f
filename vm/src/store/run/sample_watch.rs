//! Looks at samples while a run goes on: which functions have most of them so far.

use std::collections::{BTreeMap, HashMap};
use std::mem::offset_of;
use std::sync::Arc;

use bytemuck::Zeroable;
use gpu_run_bytecode::Program;

use super::super::Store;
use super::super::samples::place_of_raw;
use super::vitals::words;
use crate::device::{Device, DeviceResult};
use crate::layout::{self, Ptr, RawSample, Sample};
use crate::stands::Doing;

/// Rings of samples that code has written which are read at most, and bytes of them.
const RINGS: u64 = 64;
const RAW_BYTES: u64 = 8 << 20;

/// Functions that are told of.
const FUNCTIONS: usize = 20;

/// Where a run's samples are, and what tells the names of places.
pub(super) struct SampleWatch {
    record: layout::Samples,
    host_memory: bool,
    /// Programs by the words where they begin.
    programs: Vec<(u32, Arc<Program>)>,
    names: HashMap<u32, String>,
}

impl SampleWatch {
    /// Samples so far by function, the most first, and all of them. Of many threads, those of some.
    pub(super) fn functions(&mut self, device: &mut dyn Device) -> DeviceResult<(Vec<(String, u64)>, u64)> {
        let mut places: BTreeMap<u32, u64> = BTreeMap::new();
        self.read_groups(device, &mut places)?;
        if self.record.raw != 0 {
            self.read_raw(device, &mut places)?;
        }
        let all = places.values().sum();
        let mut functions: HashMap<String, u64> = HashMap::new();
        for (pc, count) in places {
            *functions.entry(self.name(pc).to_owned()).or_default() += count;
        }
        let mut functions: Vec<(String, u64)> = functions.into_iter().collect();
        functions.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        functions.truncate(FUNCTIONS);
        Ok((functions, all))
    }

    /// Those that lanes have counted in groups, of threads that ran.
    fn read_groups(&self, device: &mut dyn Device, places: &mut BTreeMap<u32, u64>) -> DeviceResult<()> {
        const { assert!(offset_of!(Sample, frames) == 32) };
        let mut note = |[_, count, thread_state, pc_depth]: [u64; 4]| {
            let (state, pc) = ((thread_state >> 32) as u32, pc_depth as u32);
            if count > 0 && pc != 0 && Doing::of(state) == Doing::Runs {
                *places.entry(pc).or_default() += count;
            }
        };
        if self.host_memory {
            for group in 0..u64::from(self.record.capacity) {
                let mut head = [0; 4];
                let at = self.record.groups + group * size_of::<Sample>() as u64;
                words(device, true, at, &mut head)?;
                note(head);
            }
            return Ok(());
        }
        let mut groups = vec![Sample::zeroed(); self.record.capacity as usize];
        words(device, false, self.record.groups, bytemuck::cast_slice_mut(&mut groups))?;
        for group in &groups {
            let head: &[u64] = &bytemuck::cast_slice(std::slice::from_ref(group))[..4];
            note([head[0], head[1], head[2], head[3]]);
        }
        Ok(())
    }

    /// Those that code has written, of some threads.
    fn read_raw(&self, device: &mut dyn Device, places: &mut BTreeMap<u32, u64>) -> DeviceResult<()> {
        let bytes = u64::from(self.record.raw_size) * size_of::<RawSample>() as u64;
        let threads = u64::from(self.record.raw_threads);
        let rings = threads.min(RINGS).min(RAW_BYTES / bytes.max(1)).max(1);
        let mut ring = vec![RawSample::zeroed(); self.record.raw_size as usize];
        for number in 0..rings {
            let at = self.record.raw + number * threads / rings * bytes;
            // SAFETY: a ring of the run, of compiled code, which runs on a device of its own. What is read of a sample that is
            // being written may be of two; it is only shown.
            unsafe { device.read(at, bytemuck::cast_slice_mut(&mut ring))? };
            let kept: Vec<u32> = ring.iter().filter_map(place_of_raw).collect();
            // A ring has some of those that were written, and stands for the rings that are not read.
            let all = ring.iter().map(|raw| u64::from(raw.number)).max().unwrap_or_default();
            let each = all * u64::from(self.record.weight) * threads / rings / (kept.len() as u64).max(1);
            for pc in kept {
                *places.entry(pc).or_default() += each;
            }
        }
        Ok(())
    }

    /// The name of the function at a word, the innermost of those that are inlined there.
    fn name(&mut self, pc: u32) -> &str {
        let programs = &self.programs;
        self.names.entry(pc).or_insert_with(|| {
            let after = programs.partition_point(|(start, _)| *start <= pc);
            let place = after.checked_sub(1).and_then(|index| {
                let (start, program) = &programs[index];
                program.places(pc - start).into_iter().next()
            });
            place.map_or_else(|| "?".to_owned(), |place| place.function)
        })
    }
}

impl Store {
    /// What looks at the samples of the run that is about to begin, whose record is at `record`; `None` if it takes none.
    pub(super) fn sample_watch(&mut self, record: Ptr) -> DeviceResult<Option<SampleWatch>> {
        if record == 0 {
            return Ok(None);
        }
        let programs = self.instance_infos.iter();
        let programs = programs.map(|info| (info.code_start, info.program.clone())).collect();
        Ok(Some(SampleWatch {
            record: self.fetch(record)?,
            host_memory: self.device.rings(),
            programs,
            names: HashMap::new(),
        }))
    }
}
