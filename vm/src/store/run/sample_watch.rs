//! Looks at samples while a run goes on: which functions have most of them so far.

use std::collections::{BTreeMap, HashMap};
use std::mem::offset_of;

use bytemuck::Zeroable;
use gpu_run_bytecode::Op;

use super::super::Store;
use super::super::samples::Programs;
use super::Observer;
use super::vitals::words;
use crate::device::{Device, DeviceResult};
use crate::layout::{self, Sample};
use crate::stands::{Doing, doing_in};

/// Functions that are told of.
const FUNCTIONS: usize = 20;

/// Where a run's samples are, and what tells the names of places.
pub(super) struct SampleWatch {
    record: layout::Samples,
    /// Nanoseconds for which a sample of compiled code stands.
    period: u64,
    host_memory: bool,
    programs: Programs,
    long: HashMap<u32, Op>,
    names: HashMap<u32, String>,
}

impl SampleWatch {
    /// Samples so far by function, the most first, and all of them.
    pub(super) fn functions(
        &mut self,
        device: &mut dyn Device,
        observer: Option<&Observer>,
    ) -> DeviceResult<(Vec<(String, u64)>, u64)> {
        let mut places: BTreeMap<u32, u64> = observer.map(Observer::places).unwrap_or_default();
        places.retain(|pc, _| self.long.get(pc).is_none_or(|op| doing_in(*op) == Doing::Runs));
        places.values_mut().for_each(|time| *time /= self.period);
        self.read_groups(device, &mut places)?;
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

    /// The name of the function at a word, the innermost of those that are inlined there.
    fn name(&mut self, pc: u32) -> &str {
        let programs = &self.programs;
        self.names.entry(pc).or_insert_with(|| {
            let place = programs.at(pc);
            let place = place.and_then(|(program, word)| program.places(word).into_iter().next());
            place.map_or_else(|| "?".to_owned(), |place| place.function)
        })
    }
}

impl Store {
    /// What looks at the samples of the run that is about to begin; `None` if it takes none.
    pub(super) fn sample_watch(&self) -> Option<SampleWatch> {
        let programs = Programs::of(self);
        Some(SampleWatch {
            record: self.sampling.record_in_use()?,
            period: self.sampling.period().as_nanos() as u64,
            host_memory: self.device.rings(),
            long: programs.long_instructions(),
            programs,
            names: HashMap::new(),
        })
    }
}
