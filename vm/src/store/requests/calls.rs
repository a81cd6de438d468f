//! The calls of one run.

use std::sync::Arc;

use gpu_run_bytecode::wasi::Function;

use crate::Stream;
use crate::services::{CallingRun, Closed, Environment, HostCall, HostReply, Responder, Services, TmpfsFiles};

/// Services as they serve one run: they say what its calls close, and the last run has no end for them.
pub(super) struct Calls {
    services: Arc<dyn Services>,
    last: bool,
    closed: Closed,
}

impl Calls {
    pub(super) fn new(environment: &Environment) -> Calls {
        Calls {
            services: environment.services.clone(),
            last: environment.last,
            closed: Closed::default(),
        }
    }

    /// What was closed by calls whose answers the device may not have.
    pub(super) fn closed(&self) -> &Closed {
        &self.closed
    }
}

impl Services for Calls {
    fn call(&self, request: &HostCall<'_>) -> HostReply {
        let run = match self.last {
            // There is no caller left to see what comes late.
            true => CallingRun::default(),
            false => request.run.telling(&self.closed, request.thread),
        };
        let forget = |descriptor| self.closed.forget(descriptor, request.thread);
        if matches!(request.function, Function::FdClose | Function::FdRenumber) {
            request.args.iter().for_each(|descriptor| forget(*descriptor as u32));
        }
        let reply = self.services.call(&HostCall { run, ..*request });
        if request.function == Function::PathOpen
            && let Some(descriptor) = reply.results.first_chunk()
        {
            forget(u32::from_le_bytes(*descriptor));
        }
        reply
    }

    fn has_host_function(&self, number: u32) -> bool {
        self.services.has_host_function(number)
    }

    fn call_host_function(&self, request: &HostCall<'_>, responder: Responder) {
        self.services.call_host_function(request, responder);
    }

    fn may_wait(&self, request: &HostCall<'_>) -> bool {
        self.services.may_wait(request)
    }

    fn positions(&self) -> Vec<(u32, u64)> {
        self.services.positions()
    }

    fn streams(&self) -> Vec<(u32, Stream)> {
        self.services.streams()
    }

    fn tmpfs_files(&self) -> Option<TmpfsFiles<'_>> {
        self.services.tmpfs_files()
    }
}
