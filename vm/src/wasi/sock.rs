//! Sockets: listeners that were there from the start, and connections, which they accept or `net` makes.

#[cfg(not(unix))]
use std::io::Read;
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use super::abi::{fdflags, sock};
use super::args::{Args, Result};
use super::errno::Errno;
use super::file::buffer;
use super::table::Descriptor;
use super::{Wasi, count, done, results, retry};
use crate::{CallingRun, HostReply};

/// Whether a socket answers at once. One flag with nothing that it orders: relaxed.
#[derive(Default)]
struct Nonblocking(AtomicBool);

impl Nonblocking {
    fn flags(&self) -> u16 {
        if self.0.load(Ordering::Relaxed) {
            fdflags::NONBLOCK
        } else {
            0
        }
    }

    /// Sets it by the flags, of which no other may be set.
    fn set(&self, flags: u16, set_host: impl FnOnce(bool) -> std::io::Result<()>) -> Result<()> {
        if flags & !fdflags::NONBLOCK != 0 {
            return Err(Errno::Inval);
        }
        set_host(flags != 0)?;
        self.0.store(flags != 0, Ordering::Relaxed);
        Ok(())
    }
}

/// A socket that accepts connections.
pub struct Listener {
    /// It answers at once, whatever the guest has set.
    pub socket: TcpListener,
    /// But if the host has refused that.
    blocks: bool,
    nonblocking: Nonblocking,
}

impl Listener {
    pub fn new(socket: TcpListener) -> Self {
        Listener {
            blocks: socket.set_nonblocking(true).is_err(),
            socket,
            nonblocking: Nonblocking::default(),
        }
    }

    pub fn flags(&self) -> u16 {
        self.nonblocking.flags()
    }

    pub fn set_flags(&self, flags: u16) -> Result<()> {
        self.nonblocking.set(flags, |_| Ok(()))
    }

    /// Accepts a connection that is there.
    fn accept(&self) -> Result<TcpStream> {
        if self.blocks {
            // Else the end of the run would wait for a peer.
            self.socket.set_nonblocking(true)?;
        }
        let (socket, _) = retry(|| self.socket.accept())?;
        Ok(socket)
    }
}

/// A connected socket.
pub struct Connection {
    pub socket: TcpStream,
    nonblocking: Nonblocking,
}

impl Connection {
    pub fn new(socket: TcpStream) -> Self {
        Connection {
            socket,
            nonblocking: Nonblocking::default(),
        }
    }

    pub fn flags(&self) -> u16 {
        self.nonblocking.flags()
    }

    pub fn set_flags(&self, flags: u16) -> Result<()> {
        self.nonblocking.set(flags, |on| self.socket.set_nonblocking(on))
    }

    /// Receives at most `capacity` bytes, as the `riflags` say; none if the peer sends no more.
    ///
    /// # Errors
    /// The host's, and ECANCELED if the run ended before there was something.
    pub fn receive(&self, run: CallingRun<'_>, capacity: usize, flags: u16) -> Result<Vec<u8>> {
        let mut bytes = buffer(capacity);
        let mut filled = 0;
        while filled < bytes.len() {
            let more = match flags & sock::PEEK != 0 {
                true => Ok(retry(|| self.socket.peek(&mut bytes))?),
                false => self.take(run, &mut bytes[filled..]),
            };
            match more {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(_) if filled > 0 => break,
                Err(error) => return Err(error),
            }
            if flags & sock::WAITALL == 0 || flags & sock::PEEK != 0 {
                break;
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Takes bytes that have come; none are left to a call that waits for them when the run has ended.
    #[cfg(unix)]
    fn take(&self, run: CallingRun<'_>, bytes: &mut [u8]) -> Result<usize> {
        use rustix::net::{RecvFlags, recv};

        use super::args::unless_ended;
        let mut take = || {
            let taken = retry(|| Ok(recv(&self.socket, &mut *bytes, RecvFlags::DONTWAIT)?));
            Ok(taken?.0)
        };
        loop {
            match unless_ended(run, &mut take) {
                // As the guest has it: with or without a time limit, or not at all.
                Err(Errno::Again) => retry(|| self.socket.peek(&mut [0]))?,
                result => return result,
            };
        }
    }

    #[cfg(not(unix))]
    fn take(&self, _run: CallingRun<'_>, bytes: &mut [u8]) -> Result<usize> {
        Ok(retry(|| (&self.socket).read(bytes))?)
    }

    pub fn send(&self, bytes: &[u8]) -> Result<usize> {
        Ok(retry(|| (&self.socket).write(bytes))?)
    }
}

impl Descriptor {
    /// The connection.
    ///
    /// # Errors
    /// ENOTSOCK if it is no socket, ENOTCONN for a listener.
    pub fn connection(&self) -> Result<&Connection> {
        match self {
            Descriptor::Connection(connection) => Ok(connection),
            Descriptor::Listener(_) => Err(Errno::Notconn),
            _ => Err(Errno::Notsock),
        }
    }
}

impl Wasi {
    pub(super) fn sock_accept(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let fd = args.u32()?;
        let flags = args.flags16(fdflags::ALL)?;
        let descriptor = self.table.get(fd)?;
        let listener = match &*descriptor {
            Descriptor::Listener(listener) => listener,
            Descriptor::Connection(_) => return Err(Errno::Inval),
            _ => return Err(Errno::Notsock),
        };
        if flags & !fdflags::NONBLOCK != 0 {
            return Err(Errno::Inval);
        }
        let accept = || {
            let connection = Connection::new(listener.accept()?);
            connection.set_flags(flags)?;
            self.table
                .insert(CallingRun::default(), Descriptor::Connection(connection))
        };
        loop {
            // A connection that comes when the run has ended is left to the next one.
            match args.unless_ended(accept) {
                Err(Errno::Again) if listener.flags() == 0 => super::poll::wait_readable(&listener.socket)?,
                fd => return Ok(results(&fd?.to_le_bytes())),
            }
        }
    }

    pub(super) fn sock_recv(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let fd = args.u32()?;
        args.skip()?;
        args.skip()?;
        let flags = args.flags16(sock::PEEK | sock::WAITALL)?;
        let descriptor = self.table.get(fd)?;
        let data = descriptor.connection()?.receive(args.run, args.capacity, flags)?;
        let mut results = (data.len() as u32).to_le_bytes().to_vec();
        // `roflags`: a stream cuts nothing off.
        results.extend_from_slice(&0u16.to_le_bytes());
        Ok(HostReply {
            results,
            data,
            ..done()
        })
    }

    pub(super) fn sock_send(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let sent = descriptor.connection()?.send(args.rest())?;
        Ok(count(sent))
    }

    pub(super) fn sock_shutdown(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let fd = args.u32()?;
        let how = args.flags8(sock::RD | sock::WR)?;
        let descriptor = self.table.get(fd)?;
        let connection = descriptor.connection()?;
        connection.socket.shutdown(match how {
            sock::RD => Shutdown::Read,
            sock::WR => Shutdown::Write,
            0 => return Err(Errno::Inval),
            _ => Shutdown::Both,
        })?;
        Ok(done())
    }
}
