//! What the processes of a batch ask of the host. Each has services of its own, which are made when it asks for the first
//! time: most programs never do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{MakeServices, Waiting};
use crate::services::{HostCall, HostReply, Responder, Services};

/// The services of the processes of a round.
pub(super) struct ProcessServices {
    make: MakeServices,
    /// The number in the batch of each process of the round, and its standard input.
    processes: Vec<(u64, Arc<[u8]>)>,
    /// Of processes that have asked and not ended.
    live: Mutex<HashMap<u32, Arc<dyn Services>>>,
}

impl ProcessServices {
    pub(super) fn new(make: MakeServices, processes: &[Waiting]) -> ProcessServices {
        ProcessServices {
            make,
            processes: processes
                .iter()
                .map(|process| (process.number, process.input.stdin.clone()))
                .collect(),
            live: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Arc<dyn Services>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, process: u32) -> Arc<dyn Services> {
        if let Some(services) = self.lock().get(&process) {
            return services.clone();
        }
        // Without the lock, as it may open folders. A process makes one request at a time, so nobody else makes them.
        let (number, stdin) = self.processes.get(process as usize).cloned().unwrap_or_default();
        let services = (self.make)(number, &stdin);
        self.lock().insert(process, services.clone());
        services
    }

    /// A process has ended: what it had open is closed.
    pub(super) fn end(&self, process: u32) {
        let services = self.lock().remove(&process);
        drop(services);
    }
}

impl Services for ProcessServices {
    fn call(&self, request: &HostCall<'_>) -> HostReply {
        let services = self.of(request.thread);
        services.call(&HostCall { thread: 0, ..*request })
    }

    fn may_wait(&self, request: &HostCall<'_>) -> bool {
        let services = self.of(request.thread);
        services.may_wait(&HostCall { thread: 0, ..*request })
    }

    fn call_host_function(&self, request: &HostCall<'_>, responder: Responder) {
        self.of(request.thread).call_host_function(request, responder);
    }
}
