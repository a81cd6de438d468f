use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::vec::Vec;

use super::*;
use crate::task::{Cancelled, run};

#[test]
fn many_futures_with_timers_end() {
    static ENDED: AtomicU32 = AtomicU32::new(0);
    let sum = run(|| {
        let tasks: Vec<_> = (0..10_000u64)
            .map(|n| {
                spawn(async move {
                    sleep(Duration::from_nanos(n * 997 % 5_000_000)).await;
                    yield_now().await;
                    ENDED.fetch_add(1, SeqCst);
                    n
                })
            })
            .collect();
        block_on(async { join_all(tasks).await.into_iter().map(Result::unwrap).sum::<u64>() })
    });
    assert_eq!((sum, ENDED.load(SeqCst)), (Some(9999 * 5000), 10_000));
}

#[test]
fn a_panic_or_an_end_of_a_future_reaches_who_awaits_it() {
    run(|| {
        let panics = spawn(async {
            yield_now().await;
            panic!("no");
        });
        let value = spawn(async { panics.await.map(|()| 0).unwrap_or(7) });
        assert_eq!(value.join().unwrap(), 7);
        let endless = spawn(core::future::pending::<()>());
        endless.cancel();
        assert!(endless.join().unwrap_err().is::<Cancelled>());
    });
}

#[test]
fn futures_of_other_threads_wake_this_one() {
    struct Later(std::sync::Arc<AtomicU32>, bool);
    impl Future for Later {
        type Output = u32;
        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
            if self.0.load(SeqCst) != 0 {
                return Poll::Ready(5);
            }
            if !self.1 {
                self.1 = true;
                let (flag, waker) = (self.0.clone(), context.waker().clone());
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(5));
                    flag.store(1, SeqCst);
                    waker.wake();
                });
            }
            Poll::Pending
        }
    }
    let later = || Later(Default::default(), false);
    assert_eq!(block_on(later()), 5);
    assert_eq!(run(|| spawn(later()).join().unwrap()), Some(5));
    assert_eq!(block_on(join_all([later(), later()])), [5, 5]);
}

#[test]
fn connections_are_futures() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Each is sent back what it sends, a while later.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut bytes = [0; 64];
                while let Ok(read @ 1..) = stream.read(&mut bytes) {
                    std::thread::sleep(Duration::from_millis(1));
                    stream.write_all(&bytes[..read]).unwrap();
                }
            });
        }
    });
    let talk = |n: u8| async move {
        let stream = net::TcpStream::connect(address).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), address);
        stream.write_all(&[n; 1000]).await.unwrap();
        let mut got = [0; 1000];
        stream.read_exact(&mut got).await.unwrap();
        assert_eq!(got, [n; 1000]);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    };
    block_on(talk(200));
    run(|| {
        let tasks: Vec<_> = (0..20).map(|n| spawn(talk(n))).collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}
