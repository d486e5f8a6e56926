//! HMAC-SHA256 (RFC 2104): who made these bytes knows the key.

use sha2::{Digest as _, Sha256};

/// Bytes that SHA-256 takes at a time (FIPS 180-4).
const BLOCK_BYTES: usize = 64;

/// The code of `message`, given in parts that are taken as one, under `key`.
pub fn hmac_sha256(key: &[u8], message: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK_BYTES];
    if key.len() <= BLOCK_BYTES {
        block[..key.len()].copy_from_slice(key);
    } else {
        block[..32].copy_from_slice(&Sha256::digest(key));
    }
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    for part in message {
        inner.update(part);
    }
    let outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
