//! What a run needs for requests to the host: its memory, its record, and the threads that answer.
//!
//! In: the run's options and the device. Out: a record for the kernel, and a session that is ended after the run.
//!
//! - this file: allocates mailboxes and files, writes the record, starts the threads, and ends them;
//! - `calls`: the services as they serve one run, with what its calls have closed.
//!
//! The threads that answer, and the mailboxes, are [`crate::requests`].

mod calls;

use std::mem::offset_of;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytemuck::Zeroable;
use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::wasi::Function;
use gpu_run_bytecode::{Op, Program};

use self::calls::Calls;
use super::run::Sized;
use super::tmpfs::{Area, DeviceLease};
use super::{RunOptions, Store, StoreError, Stream};
use crate::device::{Device, DeviceError, DeviceResult, Pinned};
use crate::layout::{self, FILE_BLOCK, FILE_CLOSES, FILE_DESCRIPTORS, Ptr, REQUEST_SLOTS, RequestSlot};
use crate::requests::{Doorbell, Mailboxes, RequestWorkers, call};
use crate::services::{CallingRun, Closed, Environment, HostCall, Services};

const MESSAGE_BYTES: u64 = (REQUEST_SLOTS * size_of::<layout::RequestMessage>()) as u64;
const RESPONSE_BYTES: u64 = (REQUEST_SLOTS * size_of::<layout::Response>()) as u64;
const FILES_BYTES: u64 = (FILE_DESCRIPTORS * size_of::<layout::File>()) as u64;
const SLOT_BYTES: u64 = (REQUEST_SLOTS * size_of::<RequestSlot>()) as u64;

/// Whether a program calls functions of WASI, but for `proc_exit`.
pub fn makes_requests(program: &Program) -> bool {
    instructions(&program.code).any(|(_, inst)| inst.is_ok_and(|inst| inst.op == Op::RequestQueue))
}

/// Memory of requests.
pub(super) struct Requests {
    mailboxes: Mailboxes,
    /// An errno for each stream.
    errors: Pinned,
    record: Ptr,
    slot_use: Ptr,
    /// [`layout::File`]s, and their blocks.
    files: Ptr,
    blocks: Ptr,
    strings: Sized,
    tmpfs: Area,
    bell: Arc<Doorbell>,
    /// Runs of the store so far.
    runs: u32,
}

/// What is served while a run is under way.
pub(super) struct RequestSession {
    /// See [`layout::Launch::requests`].
    pub(super) record: Ptr,
    /// Where the errno of an output stream goes that cannot be written.
    pub(super) errors: Pinned,
    pub(super) service: RequestWorkers,
    calls: Arc<Calls>,
    /// That the device has the data of files. After the service, which ends before it.
    lease: Option<DeviceLease>,
}

impl Requests {
    fn new(device: &mut dyn Device) -> DeviceResult<Requests> {
        Ok(Requests {
            mailboxes: Mailboxes {
                sent: device.allocate_pinned(MESSAGE_BYTES)?,
                answered: device.allocate_pinned(RESPONSE_BYTES)?,
                slots: device.allocate_pinned(SLOT_BYTES)?,
            },
            errors: device.allocate_pinned(64)?,
            record: device.allocate(size_of::<layout::Requests>() as u64, "requests")?,
            slot_use: device.allocate(size_of::<layout::SlotUse>() as u64, "requests")?,
            files: device.allocate(FILES_BYTES, "descriptors of files")?,
            blocks: device.allocate(FILE_DESCRIPTORS as u64 * FILE_BLOCK, "what is read ahead of files")?,
            strings: Sized::new("arguments"),
            tmpfs: Area::new(),
            bell: Arc::default(),
            runs: 0,
        })
    }

    /// Tells the device the positions of files, as the services have them.
    fn set_positions(&self, device: &mut dyn Device, services: &dyn Services) -> DeviceResult<()> {
        let mut files = vec![layout::File::zeroed(); FILE_DESCRIPTORS];
        for (descriptor, position) in services.positions() {
            if let Some(file) = files.get_mut(descriptor as usize) {
                (file.open, file.position) = (1, position);
            }
        }
        // SAFETY: all of the files; no kernel runs.
        unsafe { device.write(self.files, bytemuck::cast_slice(&files)) }
    }

    /// After a run: tells the services where its device was in files, for the run that uses them next. `closed` is what
    /// its calls have closed.
    fn tell_positions(&self, device: &mut dyn Device, services: &dyn Services, closed: &Closed) -> DeviceResult<()> {
        let mut files = vec![layout::File::zeroed(); FILE_DESCRIPTORS];
        // SAFETY: all of the files; no kernel runs.
        unsafe { device.read(self.files, bytemuck::cast_slice_mut(&mut files))? };
        for (descriptor, file) in (0u64..).zip(&files) {
            // A call that was under way for the descriptor has not moved it, but it may have closed it. Then the number
            // may be another file's.
            let is_over = file.lock == FILE_CLOSES && closed.contains(descriptor as u32);
            if file.open != 0 && !is_over {
                const FROM_START: u64 = 0;
                let request = HostCall {
                    function: Function::FdSeek,
                    thread: 0,
                    child: 0,
                    args: &[descriptor, file.position, FROM_START, 0],
                    input: &[],
                    capacity: 0,
                    run: CallingRun::default(),
                };
                // If they refuse, they know better what the descriptor is.
                call(services, &request);
            }
        }
        Ok(())
    }

    /// Clears what the last run has left. No kernel runs, and no service is alive.
    fn clear(&self, device: &mut dyn Device) -> DeviceResult<()> {
        let Mailboxes { sent, answered, .. } = self.mailboxes;
        for (pinned, bytes) in [(sent, MESSAGE_BYTES), (answered, RESPONSE_BYTES), (self.errors, 64)] {
            // SAFETY: allocated with that size; the caller says that nobody uses it.
            unsafe { std::ptr::write_bytes(pinned.host, 0, bytes as usize) };
        }
        // SAFETY: as above.
        unsafe { device.clear(self.slot_use, size_of::<layout::SlotUse>() as u64) }
    }

    /// What all records have in common: where messages go.
    fn record_of_mailboxes(&self, device: &dyn Device) -> layout::Requests {
        let rings = device.rings();
        let ring: extern "C" fn(u64) = Doorbell::ring;
        layout::Requests {
            sent: self.mailboxes.sent.device,
            answered: self.mailboxes.answered.device,
            slots: self.mailboxes.slots.device,
            output_errors: self.errors.device,
            bell: if rings { ring as usize as u64 } else { 0 },
            bell_context: if rings { Arc::as_ptr(&self.bell) as u64 } else { 0 },
            slot_use: self.slot_use,
            ..Zeroable::zeroed()
        }
    }

    /// Writes the record of a run. No thread has to do with requests yet.
    fn prepare(
        &mut self,
        device: &mut dyn Device,
        environment: &Environment,
        threads: u32,
    ) -> DeviceResult<Option<DeviceLease>> {
        self.clear(device)?;
        let (mut args, variables) = (joined(&environment.args), joined(&environment.variables));
        let args_len = args.len() as u32;
        args.extend(&variables);
        let strings = self.strings.at_least(device, args.len() as u64)?;
        let services = &*environment.services;
        self.set_positions(device, services)?;
        let (tmpfs, lease) = self.tmpfs.lend(device, &environment.services)?.unzip();
        self.runs += 1;
        let record = layout::Requests {
            args: layout::Strings {
                bytes: strings,
                len: args_len,
                count: environment.args.len() as u32,
            },
            environment: layout::Strings {
                bytes: strings + u64::from(args_len),
                len: variables.len() as u32,
                count: environment.variables.len() as u32,
            },
            seed: seed(environment.seed)?,
            run: self.runs,
            own_slots: u32::from(threads as usize <= REQUEST_SLOTS),
            files: self.files,
            blocks: self.blocks,
            tmpfs: tmpfs.unwrap_or(0),
            streams: streams(services),
            ..self.record_of_mailboxes(device)
        };
        // SAFETY: both were allocated above with these sizes, and no kernel runs.
        unsafe {
            device.write(strings, &args)?;
            device.write(self.record, bytemuck::bytes_of(&record))?;
        }
        Ok(lease)
    }
}

/// Which descriptors are streams, as the kernel wants it. The host is asked about those that have no place there.
fn streams(services: &dyn Services) -> [u32; layout::STREAM_DESCRIPTORS] {
    let mut streams = [0; layout::STREAM_DESCRIPTORS];
    for (descriptor, stream) in services.streams() {
        if let Some(place) = streams.get_mut(descriptor as usize) {
            *place = match stream {
                Stream::Stdout => 1,
                Stream::Stderr => 2,
            };
        }
    }
    streams
}

/// Strings as the kernel wants them: each with a 0 after it.
fn joined(strings: &[Vec<u8>]) -> Vec<u8> {
    let mut all = Vec::new();
    for string in strings {
        all.extend(string);
        all.push(0);
    }
    all
}

/// The key of the random bytes.
pub(super) fn seed(seed: Option<u64>) -> DeviceResult<[u32; 8]> {
    let mut key = [0u32; 8];
    match seed {
        Some(seed) => (key[0], key[1]) = (seed as u32, (seed >> 32) as u32),
        None => getrandom::fill(bytemuck::cast_slice_mut(&mut key)).map_err(|error| DeviceError::Unavailable {
            what: format!("this machine gives no random numbers: {error}"),
        })?,
    }
    Ok(key)
}

impl Store {
    /// What the processes of a batch have of requests, but for what is each one's own; `None` if they make none.
    pub(super) fn requests_of_batch(&mut self, seed_given: Option<u64>) -> DeviceResult<Option<layout::Requests>> {
        if !self.makes_requests() {
            return Ok(None);
        }
        let device = &mut *self.device;
        let requests = match self.run.requests.take() {
            Some(requests) => requests,
            None => Requests::new(device)?,
        };
        let record = layout::Requests {
            seed: seed(seed_given)?,
            // As of a program that is run once.
            run: 1,
            apart: u32::from(seed_given.is_none()),
            ..requests.record_of_mailboxes(device)
        };
        self.run.requests = Some(requests);
        Ok(Some(record))
    }

    /// Begins to answer requests of a batch, of that many processes at once; after [`Store::requests_of_batch`].
    pub(super) fn serve_batch(
        &mut self,
        services: Arc<dyn Services>,
        threads: u32,
    ) -> DeviceResult<Option<RequestWorkers>> {
        let rings = self.device.rings();
        let Some(requests) = &self.run.requests else {
            return Ok(None);
        };
        requests.clear(&mut *self.device)?;
        // Slots are shared, so that few processes may have any of them.
        let threads = threads.max(REQUEST_SLOTS as u32);
        let mailboxes = requests.mailboxes;
        let bell = requests.bell.clone();
        Ok(Some(RequestWorkers::start(services, mailboxes, threads, bell, rings)))
    }

    /// Makes requests ready and begins to answer them, if the options name services and a program makes any.
    /// There are at most so many threads.
    pub(super) fn serve_requests(
        &mut self,
        options: &RunOptions,
        threads: u32,
    ) -> Result<Option<RequestSession>, StoreError> {
        let Some(environment) = &options.environment else {
            return Ok(None);
        };
        if !self.makes_requests() {
            return Ok(None);
        }
        let device = &mut *self.device;
        let mut requests = match self.run.requests.take() {
            Some(requests) => requests,
            None => Requests::new(device)?,
        };
        let lease = requests.prepare(device, environment, threads);
        let rings = device.rings();
        let (record, errors, mailboxes) = (requests.record, requests.errors, requests.mailboxes);
        let bell = requests.bell.clone();
        self.run.requests = Some(requests);
        let calls = Arc::new(Calls::new(environment));
        let serving = RequestSession {
            record,
            errors,
            lease: lease?,
            service: RequestWorkers::start(calls.clone(), mailboxes, threads, bell, rings),
            calls,
        };
        // What was made ready here may have taken long.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // SAFETY: the launch record, which no kernel reads yet.
        unsafe {
            let launch = self.run.launch;
            let at = launch + offset_of!(layout::Launch, requests) as u64;
            self.device.write(at, &serving.record.to_le_bytes())?;
            let at = launch + offset_of!(layout::Launch, wall_start) as u64;
            self.device.write(at, &(now.as_nanos() as u64).to_le_bytes())?;
        }
        Ok(Some(serving))
    }

    /// Ends to answer requests, after the run. What its device has of files comes back to the services, unless the
    /// options say that it is not needed.
    pub(super) fn end_requests(&mut self, options: &RunOptions, serving: RequestSession) -> DeviceResult<()> {
        let RequestSession {
            service, calls, lease, ..
        } = serving;
        drop(service);
        let environment = options.environment.as_ref().filter(|environment| !environment.last);
        let (Some(environment), Some(requests)) = (environment, &mut self.run.requests) else {
            return Ok(());
        };
        let closed = calls.closed();
        requests.tell_positions(&mut *self.device, &*environment.services, closed)?;
        match lease {
            Some(lease) => requests.tmpfs.bring_back(&mut *self.device, &lease, closed),
            None => Ok(()),
        }
    }

    /// Whether any of the store's programs makes requests.
    pub(super) fn makes_requests(&self) -> bool {
        self.instance_infos.iter().any(|info| makes_requests(&info.program))
    }
}
