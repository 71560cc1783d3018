//! A device's account of its ports by SNMP.
//!
//! Owns which ports it has and which columns each is read by, learnt once. A port that is called
//! otherwise than when it was learnt is looked for anew. Never decides what counters mean.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use async_snmp::{Oid, Value};

use super::counters::{self, Column, Sum, counted, summed};
use super::error::SnmpError;
use super::facts;
use super::neighbours::{self, Neighbour};
use super::objects::{get, object};
use super::ports::{DevicePort, DevicePorts};
use super::session::Session;
use super::target::Target;
use crate::account::{Account, PortAccount};

/// sysUpTime (RFC 3418).
const UPTIME: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 3];

/// A counter that the user adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extra {
    /// What it is called in an account. One of our names takes the place of our counter.
    pub counter: String,
    /// A column, read at `.<ifIndex>` of each port.
    pub oid: Vec<u32>,
}

/// Reads one device. Nothing is sent before the first reading.
#[derive(Debug)]
pub struct Reader {
    session: Session,
    extra: Vec<Extra>,
    ports: Option<DevicePorts>,
    /// Which sums a port has, by its ifIndex.
    learnt: BTreeMap<u32, Vec<Sum>>,
    /// The columns that a port had in the last account, where none counts packets.
    had: BTreeMap<String, Vec<String>>,
}

/// A port to read, and what it is called in the account.
struct Wanted {
    key: String,
    port: DevicePort,
}

impl Reader {
    /// A reader of this device.
    pub fn new(target: Target, extra: Vec<Extra>) -> Self {
        let (learnt, had) = (BTreeMap::new(), BTreeMap::new());
        Self { session: Session::new(target), extra, ports: None, learnt, had }
    }

    /// Ends every wait, with [`SnmpError::Stopped`], once the flag is set.
    #[must_use]
    pub fn with_stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.session.stop_by(stop);
        self
    }

    /// All ports that count anything, by ifName (ifDescr where the device has no ifXTable;
    /// `ifIndex:N` where two have the same), and sysUpTime. An error where none counts packets.
    pub fn read(&mut self) -> Result<Account, SnmpError> {
        self.session.begin();
        let mut account = self.consistent(|ports, _| {
            let wanted = |port: &DevicePort| Wanted { key: port.name.clone(), port: port.clone() };
            Ok(ports.all.iter().map(wanted).collect())
        })?;
        if !account.ports.values().any(counts_packets) {
            return Err(self.no_packets("any port", self.had.values().flatten()));
        }
        account.ports.retain(|_, port| !port.is_empty());
        Ok(account)
    }

    /// These ports alone, each by the name that it is asked for: its ifName, else `ifIndex:N`, its
    /// ifDescr or its ifAlias if it is the only one.
    pub fn read_only(&mut self, ports: &[String]) -> Result<Account, SnmpError> {
        self.session.begin();
        let account = self.consistent(|known, address| {
            let wanted = |key: &String| {
                let port = known.find(address, key)?.clone();
                Ok(Wanted { key: key.clone(), port })
            };
            ports.iter().map(wanted).collect()
        })?;
        let silent = account.ports.iter().find(|(_, counters)| !counts_packets(counters));
        if let Some((port, _)) = silent {
            return Err(self.no_packets(port, self.had.get(port).into_iter().flatten()));
        }
        Ok(account)
    }

    /// What the device says of itself: `sysDescr`, `sysName`, `sysObjectID` (RFC 3418), and of its
    /// chassis `manufacturer`, `model`, `hardware`, `firmware`, `software` and `serial`
    /// (ENTITY-MIB, RFC 6933).
    pub fn facts(&mut self) -> Result<BTreeMap<String, String>, SnmpError> {
        self.session.begin();
        facts::read(&mut self.session)
    }

    /// Who is at the other end of each port's cable (LLDP-MIB, IEEE 802.1AB-2005); none where the
    /// device does not say.
    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>, SnmpError> {
        self.session.begin();
        let ports = self.known_ports()?;
        neighbours::read(&mut self.session, &ports)
    }

    fn known_ports(&mut self) -> Result<DevicePorts, SnmpError> {
        if let Some(ports) = &self.ports {
            return Ok(ports.clone());
        }
        self.learnt.clear();
        Ok(self.ports.insert(DevicePorts::read(&mut self.session)?).clone())
    }

    /// An account of ports that are called as they were when they were learnt; else they are learnt
    /// again, once.
    fn consistent(
        &mut self,
        choose: impl Fn(&DevicePorts, &str) -> Result<Vec<Wanted>, SnmpError>,
    ) -> Result<Account, SnmpError> {
        let fresh = self.ports.is_none();
        let ports = self.known_ports()?;
        let wanted = choose(&ports, self.session.address());
        let account = match wanted {
            Ok(wanted) => self.account(&wanted, ports.naming)?,
            Err(error) if fresh => return Err(error),
            // A port may have been added since.
            Err(_) => None,
        };
        if let Some(account) = account {
            return Ok(account);
        }
        self.ports = None;
        let ports = self.known_ports()?;
        let wanted = choose(&ports, self.session.address())?;
        let account = self.account(&wanted, ports.naming)?;
        account.ok_or_else(|| {
            let (address, port) =
                (self.session.address().to_owned(), "that keeps its name".to_owned());
            let known = wanted.into_iter().map(|wanted| wanted.key).take(8).collect();
            SnmpError::UnknownPort { address, port, known, others: 0 }
        })
    }

    /// `None` where a port is not called as it was.
    fn account(&mut self, wanted: &[Wanted], naming: &[u32]) -> Result<Option<Account>, SnmpError> {
        self.had.clear();
        let all = counters::all(self.extra.iter().map(|e| (e.counter.clone(), e.oid.clone())));
        let sums: Vec<Vec<Sum>> = wanted
            .iter()
            .map(|wanted| self.learnt.get(&wanted.port.index).unwrap_or(&all).clone())
            .collect();
        let mut groups = vec![vec![object(UPTIME, &[0])]];
        for (wanted, sums) in wanted.iter().zip(&sums) {
            groups.push(objects_of(&wanted.port, sums, naming));
        }
        let mut answers = get(&mut self.session, &groups)?.into_iter();
        let uptime_cs = match answers.next().as_deref() {
            Some([Some(Value::TimeTicks(uptime))]) => Some(*uptime),
            _ => None,
        };
        let mut account = Account { uptime_cs, ..Account::default() };
        for ((wanted, sums), values) in wanted.iter().zip(&sums).zip(answers) {
            let Some((mark, values)) = values.split_first() else { continue };
            if *mark != wanted.port.mark {
                return Ok(None);
            }
            let port = self.port_account(&wanted.port, sums, values)?;
            if !counts_packets(&port) {
                let had = columns_of(sums).into_iter().zip(values).filter(|(_, v)| v.is_some());
                let had = had.map(|(column, _)| column.name.clone()).collect();
                self.had.insert(wanted.key.clone(), had);
            }
            account.ports.insert(wanted.key.clone(), port);
        }
        Ok(Some(account))
    }

    /// One port's counters, and from now on only the columns that it has are asked for.
    fn port_account(
        &mut self,
        port: &DevicePort,
        sums: &[Sum],
        values: &[Option<Value>],
    ) -> Result<PortAccount, SnmpError> {
        let mut account = PortAccount::new();
        let mut taken = Vec::new();
        let distinct = columns_of(sums);
        for sum in sums {
            let of = |column: &Column| {
                let at = distinct.iter().position(|other| other.oid == column.oid);
                at.and_then(|at| values.get(at)).cloned().flatten()
            };
            let parts: Vec<Option<Value>> = sum.columns.iter().map(of).collect();
            if let (true, [Some(value)]) = (sum.added, &parts[..])
                && counted(value).is_none()
            {
                let object = object(&sum.columns[0].oid, &[port.index]).to_string();
                let (address, counter) = (self.session.address().to_owned(), sum.counter.clone());
                let kind = value.kind().as_str();
                return Err(SnmpError::NotACounter { address, counter, object, kind });
            }
            if account.contains_key(&sum.counter) {
                continue;
            }
            if let Some(counter) = summed(&parts) {
                account.insert(sum.counter.clone(), counter);
                taken.push(sum.clone());
            }
        }
        // A counter that is missing now may be one that the device has lost for a moment.
        let learnt = self.learnt.get(&port.index);
        let complete = learnt.is_none_or(|learnt| learnt.len() == taken.len());
        if complete && !leave_out_contradictions(&mut account) {
            self.learnt.insert(port.index, taken);
        } else {
            self.learnt.remove(&port.index);
        }
        Ok(account)
    }

    fn no_packets<'a>(&self, port: &str, had: impl Iterator<Item = &'a String>) -> SnmpError {
        let (address, port) = (self.session.address().to_owned(), port.to_owned());
        let had: BTreeSet<String> = had.cloned().collect();
        SnmpError::NoPackets { address, port, had: had.into_iter().collect() }
    }
}

/// Octets and not one packet: that is a counter that does not count yet, as net-snmp's received
/// unicast packets for the first seconds after its start, or never does. Says whether it was so.
fn leave_out_contradictions(port: &mut PortAccount) -> bool {
    let mut any = false;
    for (packets, bytes) in [("rx_packets", "rx_bytes"), ("tx_packets", "tx_bytes")] {
        let value = |counter| port.get(counter).map(|counter| counter.value);
        if value(packets) == Some(0) && value(bytes).is_some_and(|bytes| bytes > 0) {
            port.remove(packets);
            any = true;
        }
    }
    any
}

fn counts_packets(port: &PortAccount) -> bool {
    port.contains_key("rx_packets") || port.contains_key("tx_packets")
}

fn objects_of(port: &DevicePort, sums: &[Sum], naming: &[u32]) -> Vec<Oid> {
    let columns = columns_of(sums);
    let oids = [naming].into_iter().chain(columns.iter().map(|column| &column.oid[..]));
    oids.map(|oid| object(oid, &[port.index])).collect()
}

/// Each column once, in order.
fn columns_of(sums: &[Sum]) -> Vec<&Column> {
    let mut columns: Vec<&Column> = Vec::new();
    for column in sums.iter().flat_map(|sum| &sum.columns) {
        if !columns.iter().any(|other| other.oid == column.oid) {
            columns.push(column);
        }
    }
    columns
}
