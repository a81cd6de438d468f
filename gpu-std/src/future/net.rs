//! Connections as futures.
//!
//! ```no_run
//! use gpu_std::future;
//! use gpu_std::future::net::TcpStream;
//!
//! # fn main() -> std::io::Result<()> {
//! let echo = async |text: &[u8]| {
//!     let stream = TcpStream::connect("127.0.0.1:7").await?;
//!     stream.write_all(text).await?;
//!     let mut answer = vec![0; text.len()];
//!     stream.read_exact(&mut answer).await?;
//!     std::io::Result::Ok(answer)
//! };
//! assert_eq!(future::block_on(echo(b"hello"))?, b"hello");
//! # Ok(())
//! # }
//! ```
//!
//! What programs may connect to, and errors, are as [`crate::net`] says. A connection that waits keeps no thread, and all
//! that wait are one call of the host. To connect does keep the thread, until the other side has answered.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::vec::Vec;

use super::io::{Direction, Interest, Ready};
use crate::net::{self, ToSocketAddrs};

/// A connection: [`crate::net::TcpStream`] whose operations are futures. Several futures may use it at once.
#[derive(Debug)]
pub struct TcpStream(net::TcpStream);

impl TcpStream {
    /// Connects to the first of the addresses that takes it.
    ///
    /// # Errors
    ///
    /// That of the last address.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<TcpStream> {
        TcpStream::from_std(net::TcpStream::connect(address)?)
    }

    /// The same connection, as futures.
    ///
    /// # Errors
    ///
    /// If it is none any more.
    pub fn from_std(stream: net::TcpStream) -> io::Result<TcpStream> {
        stream.set_nonblocking(true)?;
        Ok(TcpStream(stream))
    }

    /// The connection beneath, which does not wait: what would is an error of the kind
    /// [`WouldBlock`](ErrorKind::WouldBlock).
    pub fn as_std(&self) -> &net::TcpStream {
        &self.0
    }

    /// Reads what there is, once there is something; 0 bytes at the end.
    ///
    /// # Errors
    ///
    /// As [`Read::read`].
    pub async fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let interest = Interest::new(&self.0, Direction::Read);
        let call = || (&self.0).read(bytes);
        Ready { interest, call }.await
    }

    /// Reads as many bytes.
    ///
    /// # Errors
    ///
    /// As [`Read::read_exact`].
    pub async fn read_exact(&self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.read(bytes).await? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => bytes = &mut bytes[read..],
            }
        }
        Ok(())
    }

    /// Reads until the end, and appends it to `bytes`; returns how many they were.
    ///
    /// # Errors
    ///
    /// As [`Read::read_to_end`].
    pub async fn read_to_end(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        const PIECE: usize = 16 << 10;
        let (began, mut piece) = (bytes.len(), std::vec![0; PIECE]);
        loop {
            // Into a buffer of its own, because this future may be dropped while it waits.
            match self.read(&mut piece).await? {
                0 => return Ok(bytes.len() - began),
                read => bytes.extend_from_slice(&piece[..read]),
            }
        }
    }

    /// Writes what there is room for, once there is some.
    ///
    /// # Errors
    ///
    /// As [`Write::write`].
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let interest = Interest::new(&self.0, Direction::Write);
        let call = || (&self.0).write(bytes);
        Ready { interest, call }.await
    }

    /// Writes all of it.
    ///
    /// # Errors
    ///
    /// As [`Write::write_all`].
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes).await? {
                0 => return Err(ErrorKind::WriteZero.into()),
                written => bytes = &bytes[written..],
            }
        }
        Ok(())
    }

    /// See [`std::net::TcpStream::shutdown`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.shutdown(how)
    }

    /// See [`std::net::TcpStream::set_nodelay`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.set_nodelay(nodelay)
    }

    /// See [`std::net::TcpStream::peer_addr`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// See [`std::net::TcpStream::local_addr`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}
