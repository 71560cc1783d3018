//! What stands between a browser and the server so that pages can be laid out in frames: they
//! forbid that, and a browser's own window has a least width.
//!
//! Owns one page of its own, of which the others are frames. Takes nothing from answers but what
//! forbids frames, and changes no page.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Lives as long as the test's process.
pub struct Shown(SocketAddr);

impl Shown {
    pub fn new(server: &str, own: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let server = server.to_owned();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (server, own) = (server.clone(), own.clone());
                thread::spawn(move || pass(stream, &server, &own));
            }
        });
        Self(address)
    }

    /// Of its own page.
    pub fn address(&self) -> String {
        format!("http://{}/screens.html", self.0)
    }
}

fn head(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut octets = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(at) = octets.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = octets.split_off(at + 4);
            return (String::from_utf8_lossy(&octets).into_owned(), rest);
        }
        match stream.read(&mut piece) {
            Ok(read @ 1..) => octets.extend(&piece[..read]),
            _ => return (String::new(), Vec::new()),
        }
    }
}

fn pass(mut stream: TcpStream, server: &str, own: &str) {
    let (asked, _) = head(&mut stream);
    if asked.starts_with("GET /screens.html ") {
        let length = own.len();
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{own}"
        );
        return;
    }
    let Ok(mut far) = TcpStream::connect(server) else { return };
    let asked = asked.replace("Connection: keep-alive", "Connection: close");
    let _ = far.write_all(asked.as_bytes());
    let (answer, mut rest) = head(&mut far);
    let answer = answer.replace("frame-ancestors 'none'", "frame-ancestors 'self'");
    let forbids = ["x-frame-options", "cross-origin"];
    let kept = answer.split_inclusive("\r\n").filter(|l| !forbids.iter().any(|f| l.starts_with(f)));
    let _ = stream.write_all(kept.collect::<String>().as_bytes());
    let mut piece = vec![0; 1 << 16];
    loop {
        if stream.write_all(&rest).is_err() {
            return;
        }
        match far.read(&mut piece) {
            Ok(read @ 1..) => rest = piece[..read].to_vec(),
            _ => return,
        }
    }
}
