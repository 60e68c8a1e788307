//! Decompresses transcripts, which Codex compresses with zstd when they get old. The first bytes of a
//! file show its format, not its name.
//!
//! If a stream is broken, the content before the break is kept. Limits: a file that decompresses to
//! more than [`MAX_BYTES`] is left out, so that a crafted one cannot fill the memory. zstd frames
//! that need a dictionary or a window of more than 128 MiB are not read.

use std::io::{self, BufRead as _, BufReader, Read};

#[cfg(feature = "mine")]
use ruzstd::decoding::StreamingDecoder;

/// The most bytes that a transcript may decompress to.
pub const MAX_BYTES: u64 = 256 << 20;

const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The end of the name of a compressed file.
pub const SUFFIX: &str = ".zst";

/// The content of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decompressed {
    /// The content, up to the point where the file is broken.
    pub bytes: Vec<u8>,
    /// The reason why the content is not complete.
    pub broken: Option<String>,
}

/// Reads `source`, and decompresses it if it is compressed. A compressed one is left out if its
/// content has more than `limit` bytes.
pub fn decompress(source: impl Read, limit: u64) -> io::Result<Decompressed> {
    let mut source = BufReader::new(source);
    let start = source.fill_buf()?;
    let mut out = Decompressed::default();
    if !start.starts_with(ZSTD) {
        source.read_to_end(&mut out.bytes)?;
        return Ok(out);
    }
    if cfg!(not(feature = "mine")) {
        out.broken = Some(format!("is compressed; {}", super::LEAN_BUILD));
        return Ok(out);
    }
    if let Err(error) = read_zstd(&mut source, limit, &mut out.bytes) {
        out.broken = Some(if error.kind() == io::ErrorKind::FileTooLarge {
            out.bytes = Vec::new();
            format!("decompresses to more than {} MiB and is left out", limit >> 20)
        } else {
            format!(
                "breaks off after {} decompressed bytes ({error}), which were read",
                out.bytes.len()
            )
        });
    }
    Ok(out)
}

#[cfg(not(feature = "mine"))]
fn read_zstd(_: &mut BufReader<impl Read>, _: u64, _: &mut Vec<u8>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Decompresses all zstd frames of a file; one that was appended to has several.
#[cfg(feature = "mine")]
fn read_zstd(source: &mut BufReader<impl Read>, limit: u64, out: &mut Vec<u8>) -> io::Result<()> {
    while !source.fill_buf()?.is_empty() {
        let mut frame = StreamingDecoder::new(&mut *source).map_err(io::Error::other)?;
        read_bounded(&mut frame, limit, out)?;
        let decoder = frame.into_frame_decoder();
        let (stored, computed) =
            (decoder.get_checksum_from_data(), decoder.get_calculated_checksum());
        if stored.is_some() && stored != computed {
            return Err(io::Error::other("its checksum does not match"));
        }
    }
    Ok(())
}

/// Appends the rest of `source` to `out`, or returns an error once `out` exceeds the limit.
#[cfg(feature = "mine")]
fn read_bounded(source: impl Read, limit: u64, out: &mut Vec<u8>) -> io::Result<()> {
    let remaining = limit.saturating_sub(out.len() as u64);
    let read = source.take(remaining + 1).read_to_end(out)?;
    if read as u64 > remaining { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
}

#[cfg(all(test, feature = "mine"))]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const TEXT: &str = "{\"one\": 1}\n{\"two\": 2}\n";

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn plain_and_compressed_give_the_same() {
        for packed in [TEXT.as_bytes().to_vec(), zstd(TEXT.as_bytes())] {
            let all = Decompressed { bytes: TEXT.into(), broken: None };
            assert_eq!(decompress(&packed[..], 1000).expect("read"), all);
        }
        let two = [zstd(TEXT.as_bytes()), zstd(TEXT.as_bytes())].concat();
        assert_eq!(decompress(&two[..], 1000).expect("read").bytes, TEXT.repeat(2).as_bytes());
    }

    #[test]
    fn a_broken_stream_keeps_what_came_before() {
        let whole = zstd(TEXT.as_bytes());
        let broken = [whole.clone(), whole[..whole.len() - 6].to_vec()].concat();
        let out = decompress(&broken[..], 1000).expect("read");
        assert!(out.bytes.starts_with(TEXT.as_bytes()), "{out:?}");
        assert!(out.broken.expect("said").contains("breaks off"));
        let rubbish = [ZSTD, b"rubbish"].concat();
        assert!(decompress(&rubbish[..], 1000).expect("read").broken.is_some());
    }

    #[test]
    fn a_bomb_is_left_out() {
        let bomb = zstd(&vec![0; 3 << 20]);
        assert!(bomb.len() < 3000, "{}", bomb.len());
        let out = decompress(&bomb[..], 1 << 20).expect("read");
        assert!(out.bytes.is_empty());
        assert_eq!(out.broken.as_deref(), Some("decompresses to more than 1 MiB and is left out"));
        assert_eq!(
            decompress(&bomb[..], 3 << 20).expect("read").broken,
            None,
            "the bound itself fits"
        );
    }
}
