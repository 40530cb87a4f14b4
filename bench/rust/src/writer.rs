//! The other end of a pipe, a Unix socket or a TCP connection on loopback: a thread that writes one body to each.

use crate::source::{BLOCK, PERIOD, WARM_BLOCK};
use std::fs::File;
use std::io::{Seek, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

pub struct Writer {
    kind: Kind,
    end: Option<File>,
    goes: Sender<File>,
    gone: Receiver<()>,
}

enum Kind {
    Pipe,
    Unix,
    Tcp(TcpListener),
    File(File),
}

fn write_body(end: &mut File, n: usize) {
    let mut at = 0;
    while at < n {
        let piece = (n - at).min(WARM_BLOCK);
        match end.write(&BLOCK[at % PERIOD..][..piece]) {
            Ok(count) if count > 0 => at += count,
            _ => return, // the reader has what it wanted
        }
    }
}

impl Writer {
    pub fn new(kind: &str, path: Option<&str>, n: usize) -> Self {
        let kind = match kind {
            "pipe" => Kind::Pipe,
            "unix" => Kind::Unix,
            "tcp" => Kind::Tcp(TcpListener::bind(("127.0.0.1", 0)).expect("a listener on loopback")),
            _ => {
                let path = path.expect("io=file needs a path");
                let mut file = File::options()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .open(path)
                    .expect("a file");
                write_body(&mut file, n);
                std::fs::remove_file(path).expect("the file");
                Kind::File(file)
            }
        };
        let (goes, to_write) = channel::<File>();
        let (written, gone) = channel();
        std::thread::spawn(move || {
            for mut end in to_write {
                write_body(&mut end, n);
                drop(end);
                written.send(()).expect("the reader waits");
            }
        });
        Self {
            kind,
            end: None,
            goes,
            gone,
        }
    }

    /// What the next body is to be read from; nothing is written yet (a file is there already).
    pub fn open(&mut self) -> File {
        let (from, to): (OwnedFd, OwnedFd) = match &mut self.kind {
            Kind::Pipe => {
                let (from, to) = std::io::pipe().expect("a pipe");
                (from.into(), to.into())
            }
            Kind::Unix => {
                let (from, to) = UnixStream::pair().expect("a socket pair");
                (from.into(), to.into())
            }
            Kind::Tcp(listener) => {
                let to = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
                (listener.accept().expect("a connection").0.into(), to.into())
            }
            Kind::File(file) => {
                file.rewind().expect("the file");
                return file.try_clone().expect("the file");
            }
        };
        self.end = Some(to.into());
        from.into()
    }

    /// Lets the thread write the body and close its end.
    pub fn go(&mut self) {
        if let Some(end) = self.end.take() {
            self.goes.send(end).expect("the writer");
        }
    }

    /// Waits for the writer.
    pub fn close(&mut self) {
        if !matches!(self.kind, Kind::File(_)) {
            self.gone.recv().expect("the writer");
        }
    }
}
