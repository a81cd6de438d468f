//! Connections that a guest makes: to which addresses it may, and `gpu_run_net_v1`.
//!
//! A guest connects to addresses, never to names. What it may connect to are addresses too: those that a destination
//! names, or that its name had when it was given. So no server that answers for a name later can lead a guest to
//! another address.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Mutex;
use std::time::Duration;
use std::{fmt, io};

use gpu_run_bytecode::wasi::SocketOption;

use super::args::{Args, Result, text};
use super::errno::Errno;
use super::sock::Connection;
use super::table::Descriptor;
use super::{Wasi, done, lock, results, with_data};
use crate::HostReply;

/// Refusals that are reported. A guest may ask without end.
const MOST_REPORTS: usize = 8;

/// Bytes of a name; longer ones exist nowhere.
const MOST_NAME: usize = 255;

/// What is compared of an address: the IP, and of a link-local one which link it means.
type Host = (IpAddr, u32);

fn host_of(address: &SocketAddr) -> Host {
    match address {
        SocketAddr::V4(address) => ((*address.ip()).into(), 0),
        SocketAddr::V6(address) => ((*address.ip()).into(), address.scope_id()),
    }
}

/// To where a guest may connect: `HOST:PORT`.
struct Destination {
    /// The host's name, in lower case; `None` for an IP address.
    name: Option<String>,
    /// Its addresses.
    hosts: Vec<Host>,
    /// `None`: every port.
    port: Option<u16>,
}

impl Destination {
    /// Reads `HOST:PORT`, and resolves a name.
    fn new(given: &str) -> io::Result<Destination> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
        let (host, port) = given
            .rsplit_once(':')
            .ok_or_else(|| wrong("it must be HOST:PORT; PORT may be `*`"))?;
        let port = match port {
            "*" => None,
            number => match number.parse() {
                Ok(port) if port != 0 => Some(port),
                _ => {
                    return Err(wrong(
                        "the port must be a number from 1 to 65535, or `*` for every port",
                    ));
                }
            },
        };
        // The port means nothing to what is asked here, but the forms want one.
        if let Ok(address) = format!("{host}:0").parse() {
            let hosts = vec![host_of(&address)];
            return Ok(Destination {
                name: None,
                hosts,
                port,
            });
        }
        if host.is_empty() || host.contains([':', '*', '[', ']', '/']) {
            return Err(wrong(
                "the host must be a name, an IPv4 address, or an IPv6 address in brackets: [::1]:80",
            ));
        }
        let found = (host, 0)
            .to_socket_addrs()
            .map_err(|error| io::Error::new(error.kind(), format!("the name {host} cannot be resolved: {error}")))?;
        let hosts: Vec<Host> = found.map(|address| host_of(&address)).collect();
        if hosts.is_empty() {
            return Err(wrong("the name has no address"));
        }
        let name = Some(canonical(host));
        Ok(Destination { name, hosts, port })
    }

    fn allows(&self, address: &SocketAddr) -> bool {
        self.hosts.contains(&host_of(address)) && self.port.is_none_or(|port| port == address.port())
    }
}

/// A name as names are compared: letters in lower case, and no dot after it.
fn canonical(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// The network as a guest has it.
#[derive(Default)]
pub struct Network {
    destinations: Vec<Destination>,
    /// What was refused and reported.
    refused: Mutex<Vec<String>>,
}

impl Network {
    /// Allows a destination, `HOST:PORT`.
    ///
    /// # Errors
    /// If it is no such text, or its name cannot be resolved.
    pub fn allow(&mut self, destination: &str) -> io::Result<()> {
        self.destinations.push(Destination::new(destination)?);
        Ok(())
    }

    /// Tells the user once what the guest was refused, and by which destination it would be allowed. Returns the guest's
    /// error.
    fn refuse(&self, what: impl fmt::Display, allowed_by: impl fmt::Display) -> Errno {
        let what = what.to_string();
        let mut refused = lock(&self.refused);
        if refused.len() < MOST_REPORTS && !refused.contains(&what) {
            tracing::warn!(allow_net = %allowed_by, "the program was refused {what}");
            refused.push(what);
        }
        Errno::Acces
    }

    /// Connects; `timeout` 0 is none.
    fn connect(&self, address: &str, timeout: Duration) -> Result<TcpStream> {
        let mut address: SocketAddr = address.parse().map_err(|_| Errno::Inval)?;
        if !self.destinations.iter().any(|destination| destination.allows(&address)) {
            return Err(self.refuse(format_args!("a connection to {address}"), address));
        }
        if let SocketAddr::V6(address) = &mut address {
            // Nothing that a destination says.
            address.set_flowinfo(0);
        }
        Ok(match timeout {
            Duration::ZERO => TcpStream::connect(address)?,
            timeout => TcpStream::connect_timeout(&address, timeout)?,
        })
    }

    /// The addresses of a name, as they were when it was given.
    fn resolve(&self, name: &str) -> Result<Vec<Host>> {
        if name.len() > MOST_NAME {
            return Err(Errno::Nametoolong);
        }
        let wanted = canonical(name);
        let mut hosts = Vec::new();
        for destination in &self.destinations {
            if destination.name.as_ref() == Some(&wanted) {
                hosts.extend(&destination.hosts);
            }
        }
        if hosts.is_empty() {
            // It is the guest's text, which may be anything.
            let name = name.escape_default();
            return Err(self.refuse(format_args!("the addresses of `{name}`"), format_args!("{name}:PORT")));
        }
        hosts.dedup();
        Ok(hosts)
    }
}

/// Nanoseconds of an optional time; 0 is none.
fn nanoseconds(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// The other way round.
fn time(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != 0).then(|| Duration::from_nanos(nanoseconds))
}

impl Wasi {
    /// EACCES for a name that no destination has, ENAMETOOLONG for what is no name.
    pub(super) fn resolve(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let hosts = self.network.resolve(text(args.bytes()?)?)?;
        let lines = hosts.iter().map(|(ip, scope)| match scope {
            0 => format!("{ip}\n"),
            scope => format!("{ip}%{scope}\n"),
        });
        fitting(lines.collect(), args.capacity)
    }

    /// EACCES for an address that is not allowed, EINVAL for a text that is no address.
    pub(super) fn tcp_connect(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let address = text(args.bytes()?)?;
        let timeout = Duration::from_nanos(args.u64()?);
        let connection = Connection::new(self.network.connect(address, timeout)?);
        let fd = self.table.insert(args.run, Descriptor::Connection(connection))?;
        Ok(results(&fd.to_le_bytes()))
    }

    pub(super) fn tcp_address(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let socket = &descriptor.connection()?.socket;
        let address = match args.choice(2)? {
            0 => socket.local_addr()?,
            _ => socket.peer_addr()?,
        };
        fitting(address.to_string(), args.capacity)
    }

    /// Both descriptors are the same connection, with one set of flags and options.
    pub(super) fn tcp_duplicate(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        descriptor.connection()?;
        let fd = self.table.insert(args.run, descriptor)?;
        Ok(results(&fd.to_le_bytes()))
    }

    pub(super) fn tcp_get(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let socket = &descriptor.connection()?.socket;
        let value = match option(args)? {
            SocketOption::NoDelay => socket.nodelay()?.into(),
            SocketOption::ReadTimeout => nanoseconds(socket.read_timeout()?),
            SocketOption::WriteTimeout => nanoseconds(socket.write_timeout()?),
            SocketOption::TimeToLive => socket.ttl()?.into(),
            SocketOption::Error => socket.take_error()?.map_or(0, |error| Errno::from(error).code().into()),
        };
        Ok(results(&value.to_le_bytes()))
    }

    pub(super) fn tcp_set(&self, args: &mut Args<'_>) -> Result<HostReply> {
        let descriptor = self.table.get(args.u32()?)?;
        let socket = &descriptor.connection()?.socket;
        let (option, value) = (option(args)?, args.u64()?);
        match option {
            SocketOption::NoDelay if value > 1 => return Err(Errno::Inval),
            SocketOption::NoDelay => socket.set_nodelay(value == 1)?,
            SocketOption::ReadTimeout => socket.set_read_timeout(time(value))?,
            SocketOption::WriteTimeout => socket.set_write_timeout(time(value))?,
            SocketOption::TimeToLive => socket.set_ttl(u32::try_from(value).map_err(|_| Errno::Inval)?)?,
            SocketOption::Error => return Err(Errno::Inval),
        }
        Ok(done())
    }
}

fn option(args: &mut Args<'_>) -> Result<SocketOption> {
    SocketOption::from_number(args.u32()?).ok_or(Errno::Inval)
}

/// A text that the guest's buffer has room for.
///
/// # Errors
/// EOVERFLOW if it has not.
fn fitting(text: String, room: usize) -> Result<HostReply> {
    if text.len() > room {
        return Err(Errno::Overflow);
    }
    Ok(with_data(text.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(destination: &str, address: &str) -> bool {
        let destination = Destination::new(destination).expect("a destination");
        destination.allows(&address.parse().expect("an address"))
    }

    #[test]
    fn a_destination_is_one_address_and_a_port_or_all_ports() {
        assert!(allows("127.0.0.1:80", "127.0.0.1:80"));
        assert!(!allows("127.0.0.1:80", "127.0.0.1:81"));
        assert!(!allows("127.0.0.1:80", "127.0.0.2:80"));
        assert!(allows("127.0.0.1:*", "127.0.0.1:81"));
        assert!(allows("[::1]:*", "[::1]:443"));
        assert!(!allows("[::1]:*", "127.0.0.1:443"));
        // The same host by other words is another address.
        assert!(!allows("127.0.0.1:80", "[::ffff:127.0.0.1]:80"));
        assert!(!allows("127.0.0.1:80", "0.0.0.0:80"));
        assert!(allows("[fe80::1%3]:80", "[fe80::1%3]:80"));
        assert!(!allows("[fe80::1%3]:80", "[fe80::1%4]:80"));
        assert!(allows("localhost:80", "127.0.0.1:80") || allows("localhost:80", "[::1]:80"));
        assert!(!allows("localhost:80", "192.0.2.1:80"));
    }

    #[test]
    fn other_texts_are_refused_with_what_they_must_be() {
        for (given, said) in [
            ("127.0.0.1", "HOST:PORT"),
            ("127.0.0.1:", "from 1 to 65535"),
            ("127.0.0.1:0", "from 1 to 65535"),
            ("127.0.0.1:65536", "from 1 to 65535"),
            ("::1:80", "in brackets"),
            (":80", "a name"),
            ("*:80", "a name"),
            ("10.0.0.0/8:80", "a name"),
            ("no-such-host.invalid:80", "no-such-host.invalid cannot be resolved"),
        ] {
            let error = Destination::new(given).err().expect(given).to_string();
            assert!(error.contains(said), "{given}: {error}");
        }
    }

    #[test]
    fn only_names_that_were_given_are_resolved() {
        let mut network = Network::default();
        assert_eq!(network.resolve("localhost"), Err(Errno::Acces));
        network.allow("127.0.0.1:80").expect("an address");
        assert_eq!(network.resolve("localhost"), Err(Errno::Acces));
        network.allow("localhost:80").expect("this machine's name");
        let hosts = network.resolve("LocalHost.").expect("its addresses");
        assert!(hosts.iter().all(|(ip, _)| ip.is_loopback()) && !hosts.is_empty());
        assert_eq!(network.resolve("localhost.example"), Err(Errno::Acces));
        assert_eq!(network.resolve(&"a".repeat(256)), Err(Errno::Nametoolong));
    }
}
