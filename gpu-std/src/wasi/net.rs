//! `std::net`: connections.
//!
//! In: calls with std's signatures. Out: functions of `gpu_run_net_v1`. In the order in which to read them:
//!
//! - `sys`: the imports and their numbers;
//! - `addresses`: from a name to addresses;
//! - this file: the connection itself.

mod addresses;
mod sys;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::string::ToString;
use std::time::Duration;
use std::{fmt, str};

pub use self::addresses::ToSocketAddrs;
use self::sys::{READ, SocketOption, WRITE};
use super::errno::{Errno, check};
use super::fd::{Fd, uninit};

/// See `std::net::TcpStream`.
pub struct TcpStream(Fd);

impl TcpStream {
    /// Its descriptor.
    pub(crate) fn fd(&self) -> u32 {
        self.0.0
    }

    /// See `std::net::TcpStream::connect`.
    pub fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        let mut error = None;
        for address in addr.to_socket_addrs()? {
            match open(&address, 0) {
                Ok(stream) => return Ok(stream),
                Err(failed) => error = Some(failed),
            }
        }
        Err(error.unwrap_or_else(|| io::Error::new(ErrorKind::InvalidInput, "could not resolve to any addresses")))
    }

    /// See `std::net::TcpStream::connect_timeout`.
    pub fn connect_timeout(addr: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        open(addr, nanoseconds(Some(timeout))?)
    }

    /// See `std::net::TcpStream::peer_addr`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.address(sys::PEER)
    }

    /// See `std::net::TcpStream::local_addr`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address(sys::LOCAL)
    }

    fn address(&self, which: u32) -> io::Result<SocketAddr> {
        let (mut text, mut length) = ([0; 64], 0);
        // SAFETY: the call writes to the text and to its length.
        check(unsafe { sys::tcp_address(self.0.0, which, text.as_mut_ptr(), text.len(), &mut length) })?;
        let text = text.get(..length).and_then(|text| str::from_utf8(text).ok());
        let address = text.and_then(|text| text.parse().ok());
        address.ok_or_else(|| ErrorKind::InvalidData.into())
    }

    /// See `std::net::TcpStream::shutdown`.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let how = match how {
            Shutdown::Read => READ,
            Shutdown::Write => WRITE,
            Shutdown::Both => READ | WRITE,
        };
        Ok(check(sys::sock_shutdown(self.0.0, how))?)
    }

    /// See `std::net::TcpStream::try_clone`.
    pub fn try_clone(&self) -> io::Result<TcpStream> {
        let mut fd = 0;
        // SAFETY: the call writes to `fd` only.
        check(unsafe { sys::tcp_duplicate(self.0.0, &mut fd) })?;
        Ok(TcpStream(Fd(fd)))
    }

    /// See `std::net::TcpStream::peek`.
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let buffer = super::fd::Buffer {
            address: buf.as_mut_ptr(),
            length: buf.len(),
        };
        let (mut length, mut flags) = (0, 0);
        // SAFETY: the buffer is borrowed for writing, and the call writes to it, to `length` and to `flags` only.
        check(unsafe { sys::sock_recv(self.0.0, &buffer, 1, sys::PEEK, &mut length, &mut flags) })?;
        Ok(length)
    }

    fn get(&self, option: SocketOption) -> Result<u64, Errno> {
        let mut value = 0;
        // SAFETY: the call writes to `value` only.
        check(unsafe { sys::tcp_get(self.0.0, option as u32, &mut value) })?;
        Ok(value)
    }

    fn set(&self, option: SocketOption, value: u64) -> io::Result<()> {
        Ok(check(sys::tcp_set(self.0.0, option as u32, value))?)
    }

    /// See `std::net::TcpStream::set_read_timeout`.
    pub fn set_read_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        self.set(SocketOption::ReadTimeout, nanoseconds(dur)?)
    }

    /// See `std::net::TcpStream::set_write_timeout`.
    pub fn set_write_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        self.set(SocketOption::WriteTimeout, nanoseconds(dur)?)
    }

    /// See `std::net::TcpStream::read_timeout`.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(duration(self.get(SocketOption::ReadTimeout)?))
    }

    /// See `std::net::TcpStream::write_timeout`.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(duration(self.get(SocketOption::WriteTimeout)?))
    }

    /// See `std::net::TcpStream::set_nodelay`.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.set(SocketOption::NoDelay, nodelay.into())
    }

    /// See `std::net::TcpStream::nodelay`.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(self.get(SocketOption::NoDelay)? != 0)
    }

    /// See `std::net::TcpStream::set_ttl`.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.set(SocketOption::TimeToLive, ttl.into())
    }

    /// See `std::net::TcpStream::ttl`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.get(SocketOption::TimeToLive)? as u32)
    }

    /// See `std::net::TcpStream::take_error`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(match self.get(SocketOption::Error)? {
            0 => None,
            errno => Some(Errno(errno as u16).into()),
        })
    }

    /// See `std::net::TcpStream::set_nonblocking`.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        let flags = if nonblocking { sys::NONBLOCK } else { 0 };
        Ok(check(sys::fd_fdstat_set_flags(self.0.0, flags))?)
    }
}

/// Connects within so many nanoseconds; 0: within any time.
fn open(address: &SocketAddr, timeout: u64) -> io::Result<TcpStream> {
    let address = address.to_string();
    let mut fd = 0;
    // SAFETY: the call reads the address and writes to `fd`.
    check(unsafe { sys::tcp_connect(address.as_ptr(), address.len(), timeout, &mut fd) })?;
    Ok(TcpStream(Fd(fd)))
}

/// What the host has as a time; 0 is none.
fn nanoseconds(time: Option<Duration>) -> io::Result<u64> {
    match time {
        None => Ok(0),
        Some(Duration::ZERO) => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "cannot set a 0 duration timeout",
        )),
        Some(time) => Ok(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
    }
}

fn duration(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != 0).then(|| Duration::from_nanos(nanoseconds))
}

impl Read for &TcpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.0.read(uninit(buf))?)
    }
}

impl Write for &TcpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(self.0.write(buf)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for TcpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }
}

impl Write for TcpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self).write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TcpStream");
        if let Ok(address) = self.local_addr() {
            shown.field("addr", &address);
        }
        if let Ok(address) = self.peer_addr() {
            shown.field("peer", &address);
        }
        shown.field("fd", &self.0.0).finish()
    }
}
