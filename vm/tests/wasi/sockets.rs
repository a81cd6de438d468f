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
    // After the directories, whenever it was added.
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

/// A guest that may connect to a listener of the test, and its connection.
fn connected() -> (Guest, u32, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let guest = Guest(WasiBuilder::new().allow_net(&address).unwrap().build());
    let fd = word(&call!(guest, TcpConnect, &*address, 0u64).unwrap(), 0);
    let (peer, _) = listener.accept().unwrap();
    (guest, fd, peer)
}

#[test]
fn a_guest_connects_to_what_is_allowed_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let (given, port) = (address.to_string(), address.port());
    let nothing = Guest(WasiBuilder::new().build());
    assert_eq!(call!(nothing, TcpConnect, &*given, 0u64), Err(Errno::Acces));
    assert_eq!(call!(nothing, Resolve, "localhost", Arg::Room(100)), Err(Errno::Acces));
    let guest = Guest(WasiBuilder::new().allow_net(&given).unwrap().build());
    for (text, errno) in [
        (format!("127.0.0.2:{port}"), Errno::Acces),
        (format!("0.0.0.0:{port}"), Errno::Acces),
        (format!("[::ffff:127.0.0.1]:{port}"), Errno::Acces),
        (format!("127.0.0.1:{}", port ^ 1), Errno::Acces),
        // Names are no addresses, and neither is what a resolver would take for one.
        (format!("localhost:{port}"), Errno::Inval),
        (format!("127.1:{port}"), Errno::Inval),
        (format!("{given}\0"), Errno::Inval),
        (String::new(), Errno::Inval),
    ] {
        assert_eq!(call!(guest, TcpConnect, &*text, 0u64), Err(errno), "{text}");
    }
    assert_eq!(call!(guest, TcpConnect, &b"\xff"[..], 0u64), Err(Errno::Ilseq));
    assert!(listener.accept().is_err(), "nobody may have connected");
    let second = 1_000_000_000u64;
    assert_eq!(word(&call!(guest, TcpConnect, &*given, second).unwrap(), 0), 3);
    assert!(listener.accept().is_ok());
    drop(listener);
    assert_eq!(call!(guest, TcpConnect, &*given, second), Err(Errno::Connrefused));
}

#[test]
fn names_are_told_their_addresses_if_they_were_given() {
    let guest = Guest(WasiBuilder::new().allow_net("localhost:80").unwrap().build());
    let reply = call!(guest, Resolve, "LOCALHOST.", Arg::Room(1000)).unwrap();
    let text = String::from_utf8(reply.data.clone()).unwrap();
    assert_eq!(word(&reply, 0) as usize, text.len());
    let loopback = |line: &str| line.parse::<std::net::IpAddr>().unwrap().is_loopback();
    assert!(text.ends_with('\n') && text.lines().all(loopback), "{text:?}");
    assert_eq!(call!(guest, Resolve, "localhost", Arg::Room(3)), Err(Errno::Overflow));
    assert_eq!(call!(guest, Resolve, "localhos", Arg::Room(1000)), Err(Errno::Acces));
}

#[test]
fn a_connection_that_was_made_is_a_descriptor_like_others() {
    let (guest, fd, mut peer) = connected();
    let address = |which: u32| {
        let reply = call!(guest, TcpAddress, fd, which, Arg::Room(64)).unwrap();
        String::from_utf8(reply.data).unwrap()
    };
    assert_eq!(guest.fdstat(fd).unwrap().0, 6);
    assert_eq!(address(0), peer.peer_addr().unwrap().to_string());
    assert_eq!(address(1), peer.local_addr().unwrap().to_string());
    assert_eq!(call!(guest, TcpAddress, fd, 0u32, Arg::Room(8)), Err(Errno::Overflow));
    assert_eq!(call!(guest, TcpAddress, fd, 2u32, Arg::Room(64)), Err(Errno::Inval));
    // It is the same connection by two numbers, until both are closed.
    let other = word(&call!(guest, TcpDuplicate, fd).unwrap(), 0);
    assert_eq!(guest.write(fd, b"one "), Ok(4));
    guest.close(fd).unwrap();
    assert_eq!(guest.write(fd, b"x"), Err(Errno::Badf));
    assert_eq!(
        call!(guest, SockSend, other, "two", 0u32).map(|reply| word(&reply, 0)),
        Ok(3)
    );
    guest.close(other).unwrap();
    let mut text = String::new();
    peer.read_to_string(&mut text).unwrap();
    assert_eq!(text, "one two");
}

#[test]
fn options_are_those_of_the_connection() {
    let (guest, fd, _peer) = connected();
    let get = |option: u32| {
        let reply = call!(guest, TcpGet, fd, option)?;
        Ok(u64::from_le_bytes(reply.results.try_into().unwrap()))
    };
    let set = |option: u32, value: u64| call!(guest, TcpSet, fd, option, value).map(drop);
    let (no_delay, read_timeout, write_timeout, time_to_live, error) = (0, 1, 2, 3, 4);
    assert_eq!(get(no_delay), Ok(0));
    set(no_delay, 1).unwrap();
    assert_eq!(get(no_delay), Ok(1));
    set(time_to_live, 9).unwrap();
    assert_eq!(get(time_to_live), Ok(9));
    assert_eq!(
        (get(read_timeout), get(write_timeout), get(error)),
        (Ok(0), Ok(0), Ok(0))
    );
    set(write_timeout, 3_000_000_000).unwrap();
    set(read_timeout, 20_000_000).unwrap();
    assert_eq!(
        (get(read_timeout), get(write_timeout)),
        (Ok(20_000_000), Ok(3_000_000_000))
    );
    assert_eq!(guest.read(fd, 1), Err(Errno::Again));
    set(read_timeout, 0).unwrap();
    assert_eq!(get(read_timeout), Ok(0));
    for (option, value) in [(no_delay, 2), (time_to_live, 1 << 32), (error, 0), (5, 0)] {
        assert_eq!(set(option, value), Err(Errno::Inval), "{option}");
    }
    assert_eq!(get(5), Err(Errno::Inval));
    assert_eq!(call!(guest, TcpGet, 0u32, 0u32), Err(Errno::Notsock));
    assert_eq!(call!(guest, TcpDuplicate, 1u32), Err(Errno::Notsock));
    assert_eq!(call!(guest, TcpAddress, 99u32, 0u32, Arg::Room(64)), Err(Errno::Badf));
}

#[test]
fn polling_waits_for_bytes_of_a_connection_that_was_made() {
    let (guest, fd, mut peer) = connected();
    let mut subscription = [0u8; 48];
    subscription[8] = 1;
    subscription[16..20].copy_from_slice(&fd.to_le_bytes());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(10));
            peer.write_all(b"x").unwrap();
        });
        let reply = call!(guest, PollOneoff, &subscription[..], 1u32).unwrap();
        assert_eq!((reply.data[10], reply.data[24]), (1, 0));
        call!(guest, FdFdstatSetFlags, fd, 4u32).unwrap();
        assert_eq!(guest.read(fd, 10).unwrap(), b"x");
    });
}
