//! How a run ended, and where.

use gpu_run_bytecode::TrapKind;

use super::super::Store;
use super::End;
use crate::device::Pinned;
use crate::fault::{Backtrace, Fault};
use crate::layout::{self, Control};

impl Store {
    /// How the run ended whose control is number `index` of `controls`.
    pub(in crate::store) fn end(&mut self, controls: Pinned, index: usize, stopped: Option<End>) -> End {
        // SAFETY: one of the controls in pinned memory; the run has ended.
        let end = unsafe { controls.host.cast::<Control>().add(index).read() }.end;
        match end.kind {
            layout::END_EXIT => End::Exited(end.value as i32),
            layout::END_PANIC => End::Panicked {
                thread: end.thread,
                backtrace: self.backtrace(&end),
            },
            layout::END_TRAP => {
                let kind = TrapKind::from_number(end.value as u16).unwrap_or(TrapKind::BadOpcode);
                End::Trapped(Box::new(Fault {
                    kind,
                    thread: end.thread,
                    backtrace: self.backtrace(&end),
                    heap: kind.is_of_heap().then(|| self.heap_fault(end.detail)),
                }))
            }
            _ => stopped.unwrap_or(End::Returned),
        }
    }

    /// The thread that ended the run whose control is number `index` of `controls`, if one did.
    pub(in crate::store) fn ended_by(&self, controls: Pinned, index: usize) -> Option<u32> {
        // SAFETY: as in `end`.
        let end = unsafe { controls.host.cast::<Control>().add(index).read() }.end;
        (end.kind != 0).then_some(end.thread)
    }

    fn backtrace(&self, end: &layout::End) -> Backtrace {
        let frames = (end.frames as usize).min(layout::BACKTRACE);
        let mut places = self.places(end.pc);
        for pc in &end.backtrace[..frames] {
            // A return address lies behind its call.
            places.extend(self.places(pc.saturating_sub(1)));
        }
        let omitted = end.depth.saturating_sub(frames as u32 + 1);
        let units = (end.unit_count as usize)
            .min(layout::END_UNITS)
            .min(self.frame_units(end.pc));
        Backtrace {
            places,
            omitted,
            registers: end.units[..units].to_vec(),
        }
    }

    /// Units of the frame of the function that a word of the store's code belongs to.
    fn frame_units(&self, pc: u32) -> usize {
        let after = self.instance_infos.partition_point(|info| info.code_start <= pc);
        let units = after.checked_sub(1).and_then(|index| {
            let info = &self.instance_infos[index];
            let word = pc - info.code_start;
            let mut functions = info.program.meta.functions.iter();
            let function = functions.position(|f| (f.start..f.end).contains(&word))?;
            Some(info.program.frame_units(function) as usize)
        });
        units.unwrap_or(0)
    }

    /// Places in the user's module of a word of the store's code.
    pub(in crate::store) fn places(&self, pc: u32) -> Vec<gpu_run_bytecode::Place> {
        let after = self.instance_infos.partition_point(|info| info.code_start <= pc);
        match after.checked_sub(1) {
            Some(index) => {
                let info = &self.instance_infos[index];
                info.program.places(pc - info.code_start)
            }
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::RunOptions;
    use super::*;
    use crate::Cpu;
    use crate::store::Limits;

    /// What has no call before it, as a record that was damaged might say, has no place.
    #[test]
    fn a_return_address_of_zero_has_no_place() {
        let mut store = Store::new(Box::new(Cpu::new()), Limits::default()).unwrap();
        let wasm = wat::parse_str("(module (func (export \"f\") unreachable))").unwrap();
        let program = gpu_run_translator::translate(&wasm, &Default::default())
            .unwrap()
            .program;
        let code_start = store.next_code_start();
        let options = RunOptions::default();
        store
            .instantiate(Arc::new(program), |_, _| None, &options, &mut |_, _, _: &[u8]| {})
            .unwrap();
        let end = layout::End {
            pc: code_start + 1,
            depth: 2,
            frames: 1,
            ..bytemuck::Zeroable::zeroed()
        };
        assert_eq!(store.backtrace(&end).places.len(), 1);
    }
}
