//! What a store needs of a device that runs compiled code.

use crate::device::{DeviceResult, Plan};
use crate::layout::Ptr;

/// Loaded code, as its device knows it. It lives as long as the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module(pub usize);

/// A kernel of loaded code, as its device knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(pub usize);

/// A device that runs compiled code: what [`crate::cuda::code::build`] made for its target.
pub trait CompiledDevice {
    /// Loads code.
    ///
    /// # Errors
    ///
    /// That the device does not take it.
    fn load_code(&mut self, code: &[u8]) -> DeviceResult<Module>;

    /// Address and bytes of a variable of a module.
    ///
    /// # Errors
    ///
    /// If there is no variable of this name.
    fn variable(&self, module: Module, name: &str) -> DeviceResult<(Ptr, usize)>;

    /// A kernel of a module.
    ///
    /// # Errors
    ///
    /// If there is no kernel of this name.
    fn entry(&self, module: Module, name: &str) -> DeviceResult<Entry>;

    /// Sets the native stack of every lane of later launches; returns the bytes of it that calls may take.
    ///
    /// # Errors
    ///
    /// The device's.
    fn set_stack(&mut self) -> DeviceResult<u32>;

    /// Lays out the threads of an entry, each on a lane of its own: as many lanes as threads. Of code that counts, with so many
    /// `counters` in each hardware block.
    fn plan_compiled(&self, entry: Entry, threads: u32, counters: Option<u32>) -> Plan;

    /// Lays out an entry of a batch for at most `most` lanes, all of which run at the same time; `counters` as above.
    fn plan_resident(&self, entry: Entry, most: u32, counters: Option<u32>) -> Plan {
        self.plan_compiled(entry, most, counters)
    }

    /// Starts an entry on a launch record. The kernel takes the number of threads as a parameter, which is that of the
    /// plan's lanes. `args` are the arguments that are at the record, too. The kernel takes them as parameters if there
    /// is room, so that they are in constant memory.
    ///
    /// # Safety
    ///
    /// As [`crate::Device::start`]; the record and what it points to are of the entry's module too, and the
    /// arguments of its function's type.
    unsafe fn start_compiled(&mut self, entry: Entry, launch: Ptr, args: &[u32], plan: Plan) -> DeviceResult<()>;
}
