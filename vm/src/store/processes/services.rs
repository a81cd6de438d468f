//! What the processes of a batch ask of the host. Each has services of its own, which are made when it asks for the first
//! time: most programs never do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{MakeServices, Waiting};
use crate::services::{HostCall, HostReply, Responder, Services};
use crate::wasi::GivenFiles;

/// A process that has begun and not ended.
struct Given {
    /// Its number in the batch, and what it is given.
    number: u64,
    stdin: Arc<[u8]>,
    files: GivenFiles,
    /// Made when it asks, and when processes ask that it has started: by their numbers, its own 0. `None` of one that has ended,
    /// of which a request may still be under way.
    services: HashMap<u32, Option<Arc<dyn Services>>>,
}

/// The services of the processes of a round.
pub(super) struct ProcessServices {
    make: MakeServices,
    /// By their numbers in the round.
    processes: Mutex<HashMap<u32, Given>>,
}

impl ProcessServices {
    pub(super) fn new(make: MakeServices) -> ProcessServices {
        ProcessServices {
            make,
            processes: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Given>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process may begin.
    pub(super) fn begin(&self, process: u32, waiting: &Waiting) {
        let given = Given {
            number: waiting.number,
            stdin: waiting.input.stdin.clone(),
            files: waiting.input.files.clone(),
            services: HashMap::new(),
        };
        self.lock().insert(process, given);
    }

    fn of(&self, request: &HostCall<'_>) -> Arc<dyn Services> {
        let (process, child) = (request.thread, request.child);
        let (number, stdin, files) = match self.lock().get(&process) {
            Some(given) => match given.services.get(&child) {
                Some(Some(services)) => return services.clone(),
                // Standard input is what its device has of it.
                _ if child != 0 => (given.number, Arc::default(), given.files.clone()),
                _ => (given.number, given.stdin.clone(), given.files.clone()),
            },
            None => Default::default(),
        };
        // Without the lock, as it may open folders. A process makes one request at a time, so nobody else makes them.
        let services = (self.make)(number, &stdin, &files);
        if let Some(given) = self.lock().get_mut(&process) {
            given.services.entry(child).or_insert_with(|| Some(services.clone()));
        }
        services
    }

    /// A process has ended that process `process` or one of its children has started: what it had open is closed.
    pub(super) fn end_child(&self, process: u32, child: u32) {
        let services = self
            .lock()
            .get_mut(&process)
            .and_then(|given| given.services.insert(child, None));
        drop(services);
    }

    /// A process has ended: what it and its children had open is closed.
    pub(super) fn end(&self, process: u32) {
        let given = self.lock().remove(&process);
        drop(given);
    }
}

impl Services for ProcessServices {
    fn call(&self, request: &HostCall<'_>) -> HostReply {
        let services = self.of(request);
        services.call(&HostCall { thread: 0, ..*request })
    }

    fn may_wait(&self, request: &HostCall<'_>) -> bool {
        let services = self.of(request);
        services.may_wait(&HostCall { thread: 0, ..*request })
    }

    fn call_host_function(&self, request: &HostCall<'_>, responder: Responder) {
        self.of(request).call_host_function(request, responder);
    }
}
