//! A network of a test's own: what its names mean, and which public addresses are really servers of this machine. What is
//! checked is checked as everywhere; only what lies behind a checked address is the test's.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use futures_util::future::BoxFuture;
use subagentd::{
    sys::clock::Clock,
    web::{
        CertificateAuthorities, CheckedAddress, MayFollow, WebClient, WebError, WebNetwork, WebPage,
        WebRules, WebTarget, WebTransport,
    },
};
use tokio::{net::TcpStream, sync::Notify};

#[derive(Default)]
pub struct Net {
    names: HashMap<String, Vec<Vec<IpAddr>>>,
    routes: HashMap<SocketAddr, SocketAddr>,
    silent: Vec<SocketAddr>,
    /// Told whenever a silent address is connected to.
    waited_for: Notify,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// How often each name was resolved.
    resolved: HashMap<String, usize>,
    connected: Vec<SocketAddr>,
}

impl Net {
    pub fn new() -> Net {
        Net::default()
    }

    /// A name, and its addresses.
    pub fn name(self, name: &str, addresses: &[&str]) -> Net {
        self.name_that_changes(name, &[addresses])
    }

    /// A name with other addresses each time it is asked for; the last ones stay.
    pub fn name_that_changes(mut self, name: &str, answers: &[&[&str]]) -> Net {
        let parse = |answer: &&[&str]| answer.iter().map(|it| it.parse().unwrap()).collect();
        self.names.insert(name.to_owned(), answers.iter().map(parse).collect());
        self
    }

    /// Behind this public address is that server.
    pub fn route(mut self, address: &str, server: SocketAddr) -> Net {
        self.routes.insert(address.parse().unwrap(), server);
        self
    }

    /// Nothing comes back from this public address, no refusal either.
    pub fn silent(mut self, address: &str) -> Net {
        self.silent.push(address.parse().unwrap());
        self
    }

    /// Until a silent address is waited for once more.
    pub async fn waited_for(&self) {
        self.waited_for.notified().await;
    }

    /// Every address that was connected to, in order.
    pub fn connected(&self) -> Vec<SocketAddr> {
        self.seen.lock().unwrap().connected.clone()
    }

    pub fn times_resolved(&self, name: &str) -> usize {
        self.seen.lock().unwrap().resolved.get(name).copied().unwrap_or_default()
    }
}

impl WebNetwork for Net {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut seen = self.seen.lock().unwrap();
        let times = seen.resolved.entry(name.to_owned()).or_default();
        let found = self.names.get(name).map(|answers| answers[(*times).min(answers.len() - 1)].clone());
        *times += 1;
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }

    fn connect(&self, to: CheckedAddress) -> BoxFuture<'static, io::Result<TcpStream>> {
        self.seen.lock().unwrap().connected.push(to.socket());
        // What is not routed is this machine, if it was let through: then a server there counts the connection.
        let local = Some(to.socket()).filter(|it| it.ip().to_canonical().is_loopback());
        let server = self.routes.get(&to.socket()).copied().or(local);
        if self.silent.contains(&to.socket()) {
            self.waited_for.notify_one();
            return Box::pin(std::future::pending());
        }
        Box::pin(async move {
            match server {
                Some(server) => TcpStream::connect(server).await,
                None => Err(io::ErrorKind::ConnectionRefused.into()),
            }
        })
    }
}

/// The web through a test's network.
pub struct Through {
    pub net: Arc<Net>,
    pub web: WebClient,
}

impl Through {
    pub fn new(net: Net, clock: Arc<dyn Clock>) -> Through {
        let net = Arc::new(net);
        let outside = WebTransport {
            network: Arc::clone(&net) as Arc<dyn WebNetwork>,
            authorities: CertificateAuthorities::System,
        };
        Through { net, web: WebClient::new(outside, Vec::new(), clock) }
    }

    /// For somebody who would say yes to every page of the host.
    pub async fn fetch(&self, url: &str, rules: &WebRules) -> Result<WebPage, WebError> {
        self.fetch_with(url, rules, &|_| true).await
    }

    pub async fn fetch_with(
        &self,
        url: &str,
        rules: &WebRules,
        may_follow: &MayFollow,
    ) -> Result<WebPage, WebError> {
        let target = WebTarget::parse(url).map_err(WebError::from)?;
        self.web.fetch(&target, rules, may_follow).await
    }
}
