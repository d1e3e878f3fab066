//! Segments in messages and checkpoints: the number of states, and their compressed bytes as they are.
//!
//! Invariant: bytes are copied as a whole and not one by one, and reading allocates no more than the message has bytes.

use super::code::SLACK;
use super::store::Segment;
use serde::de::{Error as _, Visitor};
use serde::ser::{Error as _, SerializeTuple};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl Serialize for Segment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut buffer = Vec::new();
        let content = self.content(&mut buffer).map_err(S::Error::custom)?;
        let mut parts = serializer.serialize_tuple(2)?;
        parts.serialize_element(&(self.states() as u32))?;
        parts.serialize_element(&Bytes(&content[..self.bytes()]))?;
        parts.end()
    }
}

/// Bytes that are written at once and not one by one.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// The same when they are read.
struct ByteBuf(Vec<u8>);

impl<'de> Deserialize<'de> for ByteBuf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = ByteBuf;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<ByteBuf, E> {
                let mut all = Vec::with_capacity(bytes.len() + SLACK);
                all.extend_from_slice(bytes);
                Ok(ByteBuf(all))
            }
        }
        deserializer.deserialize_bytes(Whole)
    }
}

impl<'de> Deserialize<'de> for Segment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (count, ByteBuf(bytes)) = Deserialize::deserialize(deserializer)?;
        Segment::of_message(bytes, count).ok_or_else(|| D::Error::custom("a segment is too long"))
    }
}
