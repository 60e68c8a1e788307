//! Reads the mode, owner, access lists and extended attributes of a file, and applies them to the
//! file that replaces it. Access is never widened: a copy starts with mode 0600, and metadata that
//! cannot be reproduced is an error, so that the caller writes in place instead.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{Gid, Mode, Uid, XattrFlags};
use rustix::io::Errno;

pub(super) use super::record::Metadata;

/// Name prefixes of the attributes that would be wrong on a copy: signatures of the content, and
/// marks of an overlay file system.
const NOT_COPIED: &[&str] = &["security.ima", "security.evm", "trusted.overlay."];
const ACCESS_LIST: &str = "system.posix_acl_access";

impl Metadata {
    /// Reads the metadata of a file.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let meta = file.metadata()?;
        Ok(Self {
            mode: meta.mode() & 0o7777,
            uid: meta.uid(),
            gid: meta.gid(),
            attributes: attributes(file)?,
            flags: flags::of(file),
        })
    }

    /// Restores what the system clears when a file is written in place: capabilities and
    /// the set-user-ID and set-group-ID bits. The error names what is lost.
    pub(super) fn restore(&self, written: &File) -> Result<(), String> {
        match Self::of(written) {
            Ok(current) if current == *self => Ok(()),
            _ => self.apply(written),
        }
    }

    /// Whether the mode forbids all writing. A test with `access` would not do: it allows root to
    /// write to every file.
    pub(super) fn is_read_only(&self) -> bool {
        self.mode & 0o222 == 0
    }

    /// Gives `copy` this metadata. The error names what cannot be reproduced.
    pub(super) fn apply(&self, copy: &File) -> Result<(), String> {
        let fresh = copy.metadata().map_err(|error| error.to_string())?;
        if fresh.uid() != self.uid || fresh.gid() != self.gid {
            let owner = (fresh.uid() != self.uid).then(|| Uid::from_raw(self.uid));
            rustix::fs::fchown(copy, owner, Some(Gid::from_raw(self.gid)))
                .map_err(|error| format!("its owner {}:{} ({error})", self.uid, self.gid))?;
        }
        let inherited = attributes(copy).map_err(|error| error.to_string())?;
        for (name, value) in &self.attributes {
            if inherited.iter().any(|(other, current)| other == name && current == value) {
                continue;
            }
            let raw_name = unhex(name).unwrap_or_else(|| name.as_bytes().to_vec());
            let bytes = unhex(value).ok_or_else(|| format!("its attribute {name}"))?;
            rustix::fs::fsetxattr(copy, raw_name.as_slice(), &bytes, XattrFlags::empty()).map_err(
                |error| format!("its attribute {} ({error})", String::from_utf8_lossy(&raw_name)),
            )?;
        }
        flags::set(copy, self.flags)?;
        // The copy may inherit the default access list of its folder, which would let in more
        // users.
        let has_access_list = |attributes: &[(String, String)]| {
            attributes.iter().any(|(name, _)| *name == hex(ACCESS_LIST.as_bytes()))
        };
        if has_access_list(&inherited) && !has_access_list(&self.attributes) {
            rustix::fs::fremovexattr(copy, ACCESS_LIST)
                .map_err(|error| format!("the absence of an access list ({error})"))?;
        }
        // Last, because changing owner or access list changes the mode.
        rustix::fs::fchmod(copy, Mode::from_raw_mode(self.mode as rustix::fs::RawMode))
            .map_err(|error| format!("its mode {:o} ({error})", self.mode))
    }
}

/// The extended attributes that a copy keeps, sorted; names and values in hexadecimal, since neither
/// need be text.
fn attributes(file: &File) -> io::Result<Vec<(String, String)>> {
    let mut names = vec![0_u8; 1024];
    let length = loop {
        match rustix::fs::flistxattr(file, names.as_mut_slice()) {
            Ok(length) => break length,
            Err(Errno::RANGE) if names.len() < 1 << 20 => names = vec![0; names.len() * 8],
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
    };
    let mut attributes = Vec::new();
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if NOT_COPIED.iter().any(|prefix| name.starts_with(prefix.as_bytes())) {
            continue;
        }
        let size = rustix::fs::fgetxattr_query(file, name)?;
        let mut value = vec![0_u8; size];
        let value_length =
            if size == 0 { 0 } else { rustix::fs::fgetxattr(file, name, value.as_mut_slice())? };
        attributes.push((hex(name), hex(&value[..value_length])));
    }
    attributes.sort();
    Ok(attributes)
}

/// The flags that `chattr` sets, on file systems that have them.
#[cfg(target_os = "linux")]
mod flags {
    use std::fs::File;

    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

    /// The flags that a copy keeps.
    fn preserved() -> IFlags {
        IFlags::NODUMP
            | IFlags::NOATIME
            | IFlags::NOCOW
            | IFlags::SYNC
            | IFlags::COMPRESSED
            | IFlags::JOURNALING
            | IFlags::NOTAIL
            | IFlags::SECURE_REMOVAL
            | IFlags::UNRM
    }

    /// The preserved flags of a file; 0 if the file system has none.
    pub(super) fn of(file: &File) -> u32 {
        ioctl_getflags(file).map_or(0, |flags| (flags & preserved()).bits())
    }

    /// Sets the preserved flags of `copy` to `wanted` and leaves its other flags as they are.
    pub(super) fn set(copy: &File, wanted: u32) -> Result<(), String> {
        let Ok(current) = ioctl_getflags(copy) else {
            return if wanted == 0 { Ok(()) } else { Err("its flags (chattr)".into()) };
        };
        let new_flags = (current - preserved()) | IFlags::from_bits_retain(wanted);
        if new_flags == current {
            return Ok(());
        }
        ioctl_setflags(copy, new_flags).map_err(|error| format!("its flags (chattr: {error})"))
    }
}

#[cfg(not(target_os = "linux"))]
mod flags {
    use std::fs::File;

    pub(super) fn of(_file: &File) -> u32 {
        0
    }

    pub(super) fn set(_copy: &File, _wanted: u32) -> Result<(), String> {
        Ok(())
    }
}

/// Bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a text in hexadecimal; `None` if it is not that.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    digits?.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair.get(1)?).ok()).collect()
}
