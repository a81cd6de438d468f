//! Directives that are calls.

use std::collections::HashMap;

use gpu_run_vm::{Call, Extern, InstanceId, Store};
use wast::{WastDirective, WastExecute, WastInvoke};

use super::{Checked, Failure, values};

/// A module's name as scripts use it, or the last module.
pub type Name<'n> = Option<&'n str>;

/// Instances by name; "" is the last one. A module that was skipped has the reason.
pub type Modules = HashMap<String, Result<InstanceId, String>>;

/// The instance of a name. A module that was skipped is a reason to skip.
pub fn module(modules: &Modules, name: Name<'_>) -> Checked<InstanceId> {
    match modules.get(name.unwrap_or_default()) {
        Some(Ok(instance)) => Ok(*instance),
        Some(Err(why)) => Err(Failure::Skipped(format!("its module was not instantiated: {why}"))),
        None => Err(format!("no module {name:?}").into()),
    }
}

/// The invocation for which a directive asks, if it asks for nothing else.
pub fn invocation<'d, 's>(directive: &'d WastDirective<'s>) -> Option<&'d WastInvoke<'s>> {
    match directive {
        WastDirective::Invoke(invoke)
        | WastDirective::AssertExhaustion { call: invoke, .. }
        | WastDirective::AssertReturn {
            exec: WastExecute::Invoke(invoke),
            ..
        }
        | WastDirective::AssertTrap {
            exec: WastExecute::Invoke(invoke),
            ..
        }
        | WastDirective::AssertException {
            exec: WastExecute::Invoke(invoke),
            ..
        } => Some(invoke),
        _ => None,
    }
}

/// The call that an invocation is.
pub fn call(modules: &Modules, store: &Store, invoke: &WastInvoke<'_>) -> Checked<Call> {
    let instance = module(modules, invoke.module.map(|id| id.name()))?;
    let Some(Extern::Func(func)) = store.export(instance, invoke.name) else {
        return Err(format!("no function `{}` is exported", invoke.name).into());
    };
    let args = invoke.args.iter().map(values::argument);
    Ok(Call {
        func,
        args: args.collect::<Result<_, _>>()?,
    })
}
