//! Sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use gpu_run_vm::{Errno, WasiBuilder};

use crate::call;
use crate::support::*;

fn receive(guest: &Guest, fd: u32, room: usize, flags: u32) -> Result<Vec<u8>> {
    let reply = call!(guest, SockRecv, fd, Arg::Room(room), flags)?;
    assert_eq!(word(&reply, 0) as usize, reply.data.len());
    assert_eq!(reply.results[4..], [0; 2]);
    Ok(reply.data)
}

#[test]
fn other_descriptors_are_no_sockets() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let file = guest.open("file", CREAT, READ | WRITE).unwrap();
    for (fd, errno) in [
        (0, Errno::Notsock),
        (1, Errno::Notsock),
        (3, Errno::Notsock),
        (file, Errno::Notsock),
        (99, Errno::Badf),
    ] {
        assert_eq!(call!(guest, SockAccept, fd, 0u32), Err(errno));
        assert_eq!(receive(&guest, fd, 1, 0), Err(errno));
        assert_eq!(call!(guest, SockSend, fd, "x", 0u32), Err(errno));
        assert_eq!(call!(guest, SockShutdown, fd, 1u32), Err(errno));
    }
    assert_eq!(receive(&guest, 1, 1, 4), Err(Errno::Inval));
    assert_eq!(call!(guest, SockShutdown, 1u32, 4u32), Err(Errno::Inval));
}

#[test]
fn a_listener_accepts_and_its_connections_talk() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let wasi = WasiBuilder::new()
        .listener(listener)
        .dir(dir.path(), "/", false)
        .unwrap()
        .build();
    let guest = Guest(wasi);
    // Behind the directories, whenever it was given.
    assert!(call!(guest, FdPrestatGet, 3u32).is_ok());
    let listener = 4;
    assert_eq!(guest.fdstat(listener).unwrap().0, 6);
    assert_eq!(call!(guest, SockSend, listener, "x", 0u32), Err(Errno::Notconn));
    call!(guest, FdFdstatSetFlags, listener, 4u32).unwrap();
    assert_eq!(guest.fdstat(listener).unwrap().1, 4);
    assert_eq!(call!(guest, SockAccept, listener, 0u32), Err(Errno::Again));
    call!(guest, FdFdstatSetFlags, listener, 0u32).unwrap();

    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(call!(guest, SockAccept, listener, 1u32 << 5), Err(Errno::Inval));
    let fd = word(&call!(guest, SockAccept, listener, 0u32).unwrap(), 0);
    assert_eq!(fd, 5);
    client.write_all(b"question").unwrap();
    assert_eq!(receive(&guest, fd, 4, 1).unwrap(), b"ques");
    assert_eq!(receive(&guest, fd, 8, 2).unwrap(), b"question");
    assert_eq!(
        call!(guest, SockSend, fd, "answer", 0u32).map(|reply| word(&reply, 0)),
        Ok(6)
    );
    assert_eq!(guest.write(fd, b"!"), Ok(1));
    let mut answer = [0; 7];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"answer!");
    assert_eq!(guest.seek(fd, 0, 1), Err(Errno::Spipe));

    call!(guest, FdFdstatSetFlags, fd, 4u32).unwrap();
    assert_eq!(guest.read(fd, 1), Err(Errno::Again));
    assert_eq!(call!(guest, FdFdstatSetFlags, fd, 1u32), Err(Errno::Inval));

    assert_eq!(call!(guest, SockShutdown, fd, 0u32), Err(Errno::Inval));
    call!(guest, SockShutdown, fd, 2u32).unwrap();
    assert_eq!(client.read(&mut answer).unwrap(), 0);
    assert_eq!(guest.write(fd, b"x"), Err(Errno::Pipe));
    drop(client);
    guest.close(fd).unwrap();
    assert_eq!(receive(&guest, fd, 1, 0), Err(Errno::Badf));
}

#[test]
fn polling_waits_for_connections_and_bytes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let guest = Guest(WasiBuilder::new().listener(listener).build());
    let wait = |fd: u32| {
        let mut subscription = [0u8; 48];
        subscription[8] = 1;
        subscription[16..20].copy_from_slice(&fd.to_le_bytes());
        call!(guest, PollOneoff, &subscription[..], 1u32).map(|reply| (reply.data[10], reply.data[24]))
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(10));
            let mut client = TcpStream::connect(address).unwrap();
            std::thread::sleep(Duration::from_millis(10));
            client.write_all(b"x").unwrap();
        });
        assert_eq!(wait(3), Ok((1, 0)));
        let fd = word(&call!(guest, SockAccept, 3u32, 0u32).unwrap(), 0);
        assert_eq!(wait(fd), Ok((1, 0)));
        assert_eq!(guest.read(fd, 10).unwrap(), b"x");
        assert_eq!(wait(fd).map(|ready| ready.0), Ok(1));
        assert_eq!(guest.read(fd, 10).unwrap(), b"");
    });
}
