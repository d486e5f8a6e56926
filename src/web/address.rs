//! May an address be connected to that somebody else chose?

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An address that was looked at, and the port. The only thing that is connected to; made here alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedAddress(SocketAddr);

impl CheckedAddress {
    /// An address of the public internet; else why it is none.
    pub(super) fn public(address: IpAddr, port: u16) -> Result<CheckedAddress, &'static str> {
        match refusal(address) {
            None => Ok(CheckedAddress(SocketAddr::new(address, port))),
            Some(why) => Err(why),
        }
    }

    /// An address of a host that the people opened who run the daemon.
    pub(super) fn opened(address: IpAddr, port: u16) -> CheckedAddress {
        CheckedAddress(SocketAddr::new(address, port))
    }

    pub fn socket(self) -> SocketAddr {
        self.0
    }
}

/// Ranges that are no public addresses of version 4: the first address, the bits that count, and what they are (IANA's
/// registry of special-purpose addresses, and what clouds answer their machines on).
const SPECIAL_V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "means this machine or nothing"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "is of a private network"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "is of a provider's own network"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "is this machine's own address"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "is a cloud's service for its machines"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "is link-local, where clouds tell secrets to their machines"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "is of a private network"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "is reserved for protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "is for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "is reserved"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "is of a private network"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "is for measurements inside networks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "is for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "is for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "is a group, not a machine"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "is reserved or a broadcast"),
];

/// Ranges that are no public addresses of version 6, within those that are given out (2000::/3).
const SPECIAL_V6: &[(Ipv6Addr, u32, &str)] = &[
    // Teredo, benchmarks, ORCHID: addresses that stand for others, or for none.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "is reserved for protocols"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "is for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "is a tunnel to an address of version 4 (6to4)"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "is for documentation"),
];

/// What is given out to machines of the public internet.
const GIVEN_OUT_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// Addresses that stand for one of version 4, in their last 32 bits: as the kernel has them, and as NAT64 has them.
const EMBEDDING_V6: &[(Ipv6Addr, u32)] =
    &[(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96), (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96)];

/// The reason why this is no address of the public internet; `None` = it is one. Continues the address.
pub fn refusal(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refusal_v4(address),
        IpAddr::V6(address) => refusal_v6(address),
    }
}

fn refusal_v4(address: Ipv4Addr) -> Option<&'static str> {
    let is_in = |(first, bits, _): &&(Ipv4Addr, u32, &str)| {
        let mask = u32::MAX << (32 - bits);
        address.to_bits() & mask == first.to_bits()
    };
    SPECIAL_V4.iter().find(is_in).map(|(_, _, why)| *why)
}

fn refusal_v6(address: Ipv6Addr) -> Option<&'static str> {
    let is_in =
        |first: Ipv6Addr, bits: u32| address.to_bits() & (u128::MAX << (128 - bits)) == first.to_bits();
    if EMBEDDING_V6.iter().any(|(first, bits)| is_in(*first, *bits)) {
        let [.., a, b, c, d] = address.octets();
        return refusal_v4(Ipv4Addr::new(a, b, c, d));
    }
    if address.is_loopback() {
        return Some("is this machine's own address");
    }
    if address.is_unspecified() {
        return Some("means this machine or nothing");
    }
    if address.is_unique_local() {
        return Some("is of a private network");
    }
    if address.is_unicast_link_local() {
        return Some("is link-local");
    }
    if address.is_multicast() {
        return Some("is a group, not a machine");
    }
    if !is_in(GIVEN_OUT_V6.0, GIVEN_OUT_V6.1) {
        return Some("is of no range that public machines have");
    }
    SPECIAL_V6.iter().find(|(first, bits, _)| is_in(*first, *bits)).map(|(_, _, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_let_through() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001:81b::200e",
            "2001:200::1",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ];
        let refused = [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.0.0",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.0",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::2",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:0:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::127.0.0.1",
            "64:ff9b::10.1.2.3",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fe80::a9fe:a9fe",
            "fec0::1",
            "ff02::1",
        ];
        for address in public {
            assert_eq!(refusal(address.parse().unwrap()), None, "{address}");
        }
        for address in refused {
            assert!(refusal(address.parse().unwrap()).is_some(), "{address}");
        }
    }

    #[test]
    fn an_address_is_checked_as_what_it_stands_for() {
        let refused = SPECIAL_V4.iter().map(|(first, _, _)| *first);
        for address in refused {
            assert!(refusal(address.into()).is_some(), "{address}");
            let mapped = address.to_ipv6_mapped();
            assert!(refusal(mapped.into()).is_some(), "{mapped}");
            assert!(CheckedAddress::public(mapped.into(), 80).is_err(), "{mapped}");
        }
    }
}
