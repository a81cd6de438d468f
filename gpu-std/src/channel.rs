//! Channels: values that threads and futures send each other.
//!
//! | function | values go |
//! |---|---|
//! | [`bounded`] | from any sender to one of the receivers, each once; a sender waits while the channel is full |
//! | [`unbounded`] | the same; no sender waits |
//! | [`priority`] | the same, the more urgent lanes first |
//! | [`oneshot`] | once, from one sender to one receiver |
//! | [`broadcast`] | from any sender to every receiver |
//! | [`watch`] | the last one, to all that look |
//!
//! ```
//! use gpu_std::{channel, task};
//!
//! let sum = task::run(|| {
//!     let (sender, receiver) = channel::bounded(8);
//!     for n in 0..4u64 {
//!         let sender = sender.clone();
//!         task::spawn(move || (0..100).for_each(|i| sender.send(n * 100 + i).unwrap()));
//!     }
//!     drop(sender);
//!     // Until all senders are gone.
//!     receiver.iter().sum::<u64>()
//! });
//! assert_eq!(sum, Some(399 * 200));
//! ```
//!
//! Every operation that waits has a form that does not (`try_…`), one with a time, and one for futures (`…_async`). A
//! thread that waits does nothing else meanwhile, also if it is a worker of a pool (but for the only one): where there may
//! be more tasks that wait for each other than workers, they should be futures. Values move; what is large is sent in a `Box`, of
//! which only the address moves.
//!
//! Many values at once cost little more than one: [`Sender::send_all`] and [`Receiver::recv_many`] take their places in
//! the channel by one step. Thousands of lanes that send one value each, one after the other, all change the same words.

mod bounded;
mod broadcast;
mod errors;
#[cfg(all(test, not(target_arch = "wasm32")))]
pub(crate) mod history;
mod mpmc;
mod oneshot;
mod priority;
#[cfg(all(test, not(target_arch = "wasm32")))]
pub(crate) mod tests;
mod unbounded;
mod watch;

pub use broadcast::{BroadcastReceiver, BroadcastSender, broadcast};
pub use errors::{BroadcastError, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
pub use mpmc::{Iter, Receiver, Sender, TryIter, bounded, unbounded};
pub use oneshot::{OneshotReceiver, OneshotSender, oneshot};
pub use priority::{PriorityReceiver, PrioritySender, priority};
pub use watch::{WatchReceiver, WatchRef, WatchSender, watch};
