//! `std::net::ToSocketAddrs`, with names that the host resolves.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::string::String;
use std::vec::{self, Vec};
use std::{iter, option, slice, str};

use super::super::errno::check;
use super::sys;

/// See `std::net::ToSocketAddrs`. A trait of its own, because std's finds no names here.
pub trait ToSocketAddrs {
    /// See `std::net::ToSocketAddrs::Iter`.
    type Iter: Iterator<Item = SocketAddr>;

    /// See `std::net::ToSocketAddrs::to_socket_addrs`.
    fn to_socket_addrs(&self) -> io::Result<Self::Iter>;
}

/// What is one address.
macro_rules! addresses {
    ($($type:ty),*) => {$(
        impl ToSocketAddrs for $type {
            type Iter = option::IntoIter<SocketAddr>;

            fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
                Ok(Some(SocketAddr::from(*self)).into_iter())
            }
        }
    )*};
}

addresses! { SocketAddr, SocketAddrV4, SocketAddrV6, (IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16) }

impl ToSocketAddrs for (&str, u16) {
    type Iter = vec::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        let (host, port) = *self;
        match host.parse::<IpAddr>() {
            Ok(ip) => Ok(std::vec![SocketAddr::new(ip, port)].into_iter()),
            Err(_) => resolve(host, port),
        }
    }
}

impl ToSocketAddrs for (String, u16) {
    type Iter = vec::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        (&*self.0, self.1).to_socket_addrs()
    }
}

impl ToSocketAddrs for str {
    type Iter = vec::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        if let Ok(address) = self.parse() {
            return Ok(std::vec![address].into_iter());
        }
        let invalid = |what| io::Error::new(ErrorKind::InvalidInput, what);
        let (host, port) = self.rsplit_once(':').ok_or_else(|| invalid("invalid socket address"))?;
        resolve(host, port.parse().map_err(|_| invalid("invalid port value"))?)
    }
}

impl ToSocketAddrs for String {
    type Iter = vec::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        (**self).to_socket_addrs()
    }
}

impl<'a> ToSocketAddrs for &'a [SocketAddr] {
    type Iter = iter::Cloned<slice::Iter<'a, SocketAddr>>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        Ok(self.iter().cloned())
    }
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {
    type Iter = T::Iter;

    fn to_socket_addrs(&self) -> io::Result<T::Iter> {
        (**self).to_socket_addrs()
    }
}

/// The addresses that the host has for a name.
fn resolve(name: &str, port: u16) -> io::Result<vec::IntoIter<SocketAddr>> {
    // Room for about a hundred, as many as a name's answer from a server carries.
    let mut text = std::vec![0; 4096];
    let mut length = 0;
    // SAFETY: the call reads the name, and writes to the text and to `length`.
    check(unsafe { sys::resolve(name.as_ptr(), name.len(), text.as_mut_ptr(), text.len(), &mut length) })?;
    text.truncate(length);
    let text = str::from_utf8(&text).map_err(|_| ErrorKind::InvalidData)?;
    let addresses: Vec<SocketAddr> = text.lines().filter_map(|line| address(line, port)).collect();
    Ok(addresses.into_iter())
}

/// An address as the host tells it: `IP`, or of a link-local one `IP%LINK`.
fn address(line: &str, port: u16) -> Option<SocketAddr> {
    let Some((ip, link)) = line.split_once('%') else {
        return Some(SocketAddr::new(line.parse().ok()?, port));
    };
    Some(SocketAddrV6::new(ip.parse().ok()?, port, 0, link.parse().ok()?).into())
}
