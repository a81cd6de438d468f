//! How a run ended, and where.

use gpu_run_bytecode::TrapKind;

use super::super::Store;
use super::End;
use crate::device::{DeviceResult, Pinned};
use crate::fault::{Backtrace, Fault};
use crate::layout::{self, Control};
use crate::stands::{Doing, Stand, Stands};

impl Store {
    /// How the run ended whose control is number `index` of `controls`.
    pub(in crate::store) fn end(&mut self, controls: Pinned, index: usize, stopped: Option<End>) -> End {
        // SAFETY: one of the controls in pinned memory; the run has ended.
        let end = unsafe { controls.host.cast::<Control>().add(index).read() }.end;
        self.end_of(&end, stopped)
    }

    /// How a run ended of which that is the record.
    pub(in crate::store) fn end_of(&mut self, end: &layout::End, stopped: Option<End>) -> End {
        match end.kind {
            layout::END_EXIT => End::Exited(end.value as i32),
            layout::END_PANIC => End::Panicked {
                thread: end.thread,
                backtrace: self.backtrace(end),
            },
            layout::END_TRAP => {
                let kind = TrapKind::from_number(end.value as u16).unwrap_or(TrapKind::BadOpcode);
                End::Trapped(Box::new(Fault {
                    kind,
                    thread: end.thread,
                    backtrace: self.backtrace(end),
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

    /// Units of all frames that were open when a thread ended the run of these controls, if all are known.
    pub(in crate::store) fn open_units(&self, controls: Pinned) -> Option<u64> {
        // SAFETY: as in `end`.
        let end = unsafe { controls.host.cast::<Control>().read() }.end;
        let frames = end.frames as usize;
        if frames > layout::BACKTRACE || end.depth as usize > frames + 1 {
            return None;
        }
        let callers = end.backtrace[..frames].iter().map(|pc| pc.saturating_sub(1));
        let units = std::iter::once(end.pc)
            .chain(callers)
            .map(|pc| self.frame_units(pc) as u64);
        Some(units.sum())
    }

    fn backtrace(&self, end: &layout::End) -> Backtrace {
        let (inner, outer) = noted_calls(end);
        let mut places = self.places_of_calls(end.pc, &inner);
        let omitted = end.depth.saturating_sub((inner.len() + outer.len()) as u32 + 1);
        let omitted_at = (omitted > 0 && !outer.is_empty()).then_some(places.len());
        places.extend(outer.iter().flat_map(|address| self.place_of_call(*address)));
        let units = (end.unit_count as usize)
            .min(layout::END_UNITS)
            .min(self.frame_units(end.pc));
        Backtrace {
            places,
            omitted,
            omitted_at,
            registers: end.units[..units].to_vec(),
        }
    }

    /// A stack of so many frames, whose innermost instruction and calls are known.
    pub(in crate::store) fn backtrace_of(&self, pc: u32, depth: u32, calls: &[u32]) -> Backtrace {
        Backtrace {
            places: self.places_of_calls(pc, calls),
            omitted: depth.saturating_sub(calls.len() as u32 + 1),
            ..Backtrace::default()
        }
    }

    /// The places of an instruction and of the calls that led to it, innermost first.
    fn places_of_calls(&self, pc: u32, return_addresses: &[u32]) -> Vec<gpu_run_bytecode::BacktraceFrame> {
        let calls = return_addresses.iter().flat_map(|address| self.place_of_call(*address));
        self.places(pc).into_iter().chain(calls).collect()
    }

    /// The places of the call with a return address, which lies after it.
    fn place_of_call(&self, return_address: u32) -> Vec<gpu_run_bytecode::BacktraceFrame> {
        self.places(return_address.saturating_sub(1))
    }

    /// Where the threads stood that the host has stopped, as their lanes have recorded it.
    pub(in crate::store) fn read_stands(&mut self) -> DeviceResult<Stands> {
        let mut bytes = vec![0u8; size_of::<layout::Stands>()];
        // SAFETY: a buffer of this size; the run has ended.
        unsafe { self.device.read(self.run.stands.ptr, &mut bytes)? };
        let record: layout::Stands = bytemuck::pod_read_unaligned(&bytes);
        let used = record.groups.iter().filter(|stand| stand.count > 0);
        let mut groups: Vec<Stand> = used
            .map(|stand| {
                let calls = &stand.calls[..(stand.frames as usize).min(layout::STAND_CALLS)];
                Stand {
                    threads: stand.count,
                    thread: stand.thread,
                    doing: Doing::of(stand.state),
                    backtrace: self.backtrace_of(stand.pc, stand.depth, calls),
                }
            })
            .collect();
        groups.sort_by_key(|stand| (std::cmp::Reverse(stand.threads), stand.thread));
        Ok(Stands {
            groups,
            new_threads: record.new_threads,
            others: record.others,
        })
    }

    /// Units of the frame of the function that a word of the store's code belongs to.
    pub(super) fn frame_units(&self, pc: u32) -> usize {
        let units = self.instance_at(pc).and_then(|index| {
            let info = &self.instance_infos[index];
            let word = pc - info.code_start;
            let mut functions = info.program.meta.functions.iter();
            let function = functions.position(|f| (f.start..f.end).contains(&word))?;
            Some(info.program.frame_units(function) as usize)
        });
        units.unwrap_or(0)
    }

    /// The number of the instance that a word of the store's code belongs to.
    pub(in crate::store) fn instance_at(&self, pc: u32) -> Option<usize> {
        let after = self.instance_infos.partition_point(|info| info.code_start <= pc);
        after.checked_sub(1)
    }

    /// Places in the user's module of a word of the store's code.
    pub(in crate::store) fn places(&self, pc: u32) -> Vec<gpu_run_bytecode::BacktraceFrame> {
        match self.instance_at(pc) {
            Some(index) => {
                let info = &self.instance_infos[index];
                info.program.places(pc - info.code_start)
            }
            None => Vec::new(),
        }
    }
}

/// Return addresses that the record of an end has: the innermost, and where there are more than it has room for, the
/// outermost.
fn noted_calls(end: &layout::End) -> (Vec<u32>, Vec<u32>) {
    const INNER: usize = layout::BACKTRACE - layout::OUTER_CALLS;
    let frames = end.frames as usize;
    let at = |call: usize| {
        let place = if call < INNER {
            call
        } else {
            INNER + (call - INNER) % layout::OUTER_CALLS
        };
        end.backtrace[place]
    };
    if frames <= layout::BACKTRACE {
        return ((0..frames).map(at).collect(), Vec::new());
    }
    let outer = frames - layout::OUTER_CALLS..frames;
    ((0..INNER).map(at).collect(), outer.map(at).collect())
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

    /// What `End::note` keeps of a deep stack: address n is that of the n-th call, innermost first.
    #[test]
    fn the_innermost_and_the_outermost_calls_are_noted() {
        let of = |frames: usize| {
            let mut end: layout::End = bytemuck::Zeroable::zeroed();
            end.frames = frames as u32;
            for call in 0..frames {
                let place = if call < 48 { call } else { 48 + (call - 48) % 16 };
                end.backtrace[place] = call as u32;
            }
            noted_calls(&end)
        };
        assert_eq!(of(0), (vec![], vec![]));
        assert_eq!(of(64), ((0..64).collect(), vec![]));
        assert_eq!(of(65), ((0..48).collect(), (49..65).collect()));
        assert_eq!(of(1000), ((0..48).collect(), (984..1000).collect()));
    }
}
