//! A device's port counters by SNMP.
//!
//! Owns the list of its ports and their columns, read once. If a port's name has changed since, the
//! list is read again. Never interprets a counter.

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

/// Identifier of sysUpTime (RFC 3418).
const UPTIME: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 3];

/// A counter added by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extra {
    /// Name in an account. A built-in counter of the same name is replaced.
    pub counter: String,
    /// Column, read at `.<ifIndex>` of each port.
    pub oid: Vec<u32>,
}

/// Reader of one device. Nothing is sent before the first reading.
#[derive(Debug)]
pub struct Reader {
    session: Session,
    extra: Vec<Extra>,
    ports: Option<DevicePorts>,
    /// Sums that each port has, by its ifIndex.
    learnt: BTreeMap<u32, Vec<Sum>>,
    /// Columns that a port had in the last account, for ports that count no packets.
    had: BTreeMap<String, Vec<String>>,
}

/// A port to read, with its key in the account.
struct Wanted {
    key: String,
    port: DevicePort,
}

impl Reader {
    /// Creates a reader of this device.
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

    /// Reads sysUpTime and all ports that count anything. Ports are named by ifName, by ifDescr if
    /// the device has no ifXTable, and by `ifIndex:N` if two have the same name. Fails if no port
    /// counts packets.
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

    /// Reads only these ports, keyed by the requested names. A name is the port's ifName, else
    /// `ifIndex:N`, else a unique ifDescr or ifAlias.
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

    /// Reads facts about the device: `sysDescr`, `sysName`, `sysObjectID` (RFC 3418). Adds those of
    /// its chassis: `manufacturer`, `model`, `hardware`, `firmware`, `software` and `serial`
    /// (ENTITY-MIB, RFC 6933).
    pub fn facts(&mut self) -> Result<BTreeMap<String, String>, SnmpError> {
        self.session.begin();
        facts::read(&mut self.session)
    }

    /// Reads the neighbour of each port (LLDP-MIB, IEEE 802.1AB-2005); empty if the device reports
    /// none.
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

    /// Reads ports whose names are unchanged since the port list was read; otherwise reads the list
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

    /// Reads the wanted ports; `None` if a port's name has changed.
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

    /// Extracts one port's counters. Later readings request only the columns that the port has.
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
        // A counter that is missing now may be missing only temporarily.
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

/// Removes packet counters of 0 next to octets. Such a counter does not count yet, as net-snmp's
/// received unicast packets in the first seconds after its start, or never does. Returns true if
/// one was removed.
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

/// Lists each column once, in order.
fn columns_of(sums: &[Sum]) -> Vec<&Column> {
    let mut columns: Vec<&Column> = Vec::new();
    for column in sums.iter().flat_map(|sum| &sum.columns) {
        if !columns.iter().any(|other| other.oid == column.oid) {
            columns.push(column);
        }
    }
    columns
}
