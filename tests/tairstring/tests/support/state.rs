//! Keys in every state a write can leave them in, and all that is stored about them.

use super::server::Server;
use super::until;
use super::words::show;

/// Writes the keys. Deadlines that are relative, absolute, kept and removed; flags; the versions at
/// the edges; keys deleted by comparison.
pub(crate) const WRITES: &[(&str, &str)] = &[
    ("SET cas a", "+OK"),
    ("CAS cas a b", ":1"),
    ("SET cas:px a", "+OK"),
    ("CAS cas:px a b PX 600000", ":1"),
    ("SET cas:exat a", "+OK"),
    ("CAS cas:exat a b EXAT 4102444800", ":1"),
    ("SET cas:keep a PX 600000", "+OK"),
    ("CAS cas:keep a b KEEPTTL", ":1"),
    ("SET cas:removed a PX 600000", "+OK"),
    ("CAS cas:removed a b", ":1"),
    ("SET cas:bytes \"a\\x00\"", "+OK"),
    ("CAS cas:bytes \"a\\x00\" \"\\r\\n\\xff\" KEEPTTL", ":1"),
    ("SET cad a", "+OK"),
    ("CAD cad a", ":1"),
    ("EXSET set a", "+OK"),
    ("EXSET set:abs a ABS 41 FLAGS 4294967295 PX 600000", "+OK"),
    ("EXSET set:keep a PXAT 4102444800001", "+OK"),
    ("EXSET set:keep b KEEPTTL FLAGS 3", "+OK"),
    ("EXSET set:keep c KEEPTTL", "+OK"),
    ("EXSET set:removed a PX 600000", "+OK"),
    ("EXSET set:removed b", "+OK"),
    ("EXSET set:empty \"\"", "+OK"),
    ("EXSET set:bytes \"\\r\\n\\x00\\xff\"", "+OK"),
    ("EXSET set:0 a ABS 0", "+OK"),
    ("EXSET set:last a ABS 9223372036854775807", "+OK"),
    ("EXSET set:wrapped a ABS 9223372036854775807", "+OK"),
    ("EXSET set:wrapped b", "+OK"),
    ("EXSET excas a FLAGS 9 PX 600000", "+OK"),
    ("EXCAS excas b 1", "*3\r\n+OK\r\n+\r\n:2"),
    ("EXSET excas:px a", "+OK"),
    ("EXCAS excas:px b 1 PX 600000", "*3\r\n+OK\r\n+\r\n:2"),
    ("EXSET excas:keep a PX 600000", "+OK"),
    ("EXCAS excas:keep b 1 KEEPTTL", "*3\r\n+OK\r\n+\r\n:2"),
    ("EXSET excad a", "+OK"),
    ("EXCAD excad 1", ":1"),
    ("EXSET setver a PX 600000", "+OK"),
    ("EXSETVER setver 77", ":1"),
    ("EXINCRBY count 5 DEF 100 PX 600000", ":100"),
    ("EXINCRBY count 5 KEEPTTL", ":105"),
    ("EXSET generic a FLAGS 2", "+OK"),
    ("PEXPIRE generic 600000", ":1"),
];

pub(crate) fn write(server: &Server) -> Result<(), String> {
    WRITES.iter().try_for_each(|(line, reply)| server.must(line, &format!("{reply}\r\n")))
}

/// One line per key that was ever written: type, value, version, flags, deadline.
pub(crate) fn read(server: &Server) -> Result<Vec<String>, String> {
    let mut keys: Vec<&str> =
        WRITES.iter().filter_map(|(line, _)| line.split(' ').nth(1)).collect();
    keys.dedup();
    keys.iter()
        .map(|key| {
            let kind = server.call(&format!("TYPE {key}"))?;
            let get = match kind.as_slice() {
                b"+exstrtype\r\n" => format!("EXGET {key} WITHFLAGS"),
                _ => format!("GET {key}"),
            };
            let value = server.call(&get)?;
            let deadline = server.call(&format!("PEXPIRETIME {key}"))?;
            Ok(show(&[key.as_bytes(), b" ", &kind, &value, &deadline].concat()))
        })
        .collect()
}

/// Waits until the server holds exactly this.
pub(crate) fn expect(server: &Server, expected: &[String]) -> Result<(), String> {
    until(|| {
        let got = read(server)?;
        let differences: Vec<String> = expected
            .iter()
            .zip(&got)
            .filter(|(expected, got)| expected != got)
            .map(|(expected, got)| format!("expected {expected}\n     got {got}"))
            .collect();
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    })
}

/// The keys that must have a deadline, so that two servers cannot agree on a wrong one.
pub(crate) fn check_deadlines(state: &[String]) -> Result<(), String> {
    const EXPIRING: [&str; 10] = [
        "cas:px",
        "cas:exat",
        "cas:keep",
        "set:abs",
        "set:keep",
        "excas:px",
        "excas:keep",
        "setver",
        "count",
        "generic",
    ];
    for line in state {
        let key = line.split(' ').next().unwrap_or_default();
        let expires = !line.ends_with(":-1\\r\\n") && !line.ends_with(":-2\\r\\n");
        if expires != EXPIRING.contains(&key) {
            return Err(format!("wrong deadline: {line}"));
        }
    }
    Ok(())
}
