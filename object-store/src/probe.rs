//! Tries out whether a server honours conditional writes, because without them edits would be lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::objects::{Objects, PutOutcome, StorageError};
use super::{BucketOptions, RESERVED_FOLDER};
use restitch::internals::store::now_millis;
use restitch::port::ContentHash;

/// A day in milliseconds.
const DAY: u64 = 24 * 3600 * 1000;

/// Refuses a server that writes although the condition does not hold.
pub(super) async fn check_conditional_writes(
    objects: &Objects,
    url: &str,
    options: &BucketOptions,
) -> Result<(), String> {
    let cache = ProbeCache::new(url, options);
    if cache.is_fresh() {
        return Ok(());
    }
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|error| error.to_string())?;
    let key = format!("{RESERVED_FOLDER}/probe/{:016x}", u64::from_le_bytes(random));
    let defect = find_defect(objects, &key).await;
    // Whatever the result, the object is no longer needed.
    let removed = objects.remove(&key).await;
    match defect {
        Err(error) => Err(describe(&error)),
        Ok(Some(defect)) => Err(format!(
            "the server of {url} {defect}: two agents there would overwrite each other's edits, so restitch does not use it. Use a server with conditional writes (S3 since 2024, MinIO, R2, Azure Blob Storage)"
        )),
        Ok(None) => {
            removed.map_err(|error| describe(&error))?;
            cache.record_success();
            Ok(())
        }
    }
}

/// The error and its hint as one text.
fn describe(error: &StorageError) -> String {
    format!("{error}. {}", error.hint)
}

/// Writes one object repeatedly and returns what the server does wrong; `None` if nothing.
async fn find_defect(objects: &Objects, key: &str) -> Result<Option<&'static str>, StorageError> {
    let PutOutcome::Done(first) = objects.put_if(key, b"1".to_vec(), None, Some(1)).await? else {
        // No other process uses this key, so an earlier request was carried out without a response.
        return Err(StorageError {
            text: "an object with a new random name exists already".into(),
            may_have_applied: true,
            hint: "Try again.",
            too_large: None,
        });
    };
    if matches!(objects.put_if(key, b"2".to_vec(), None, Some(2)).await?, PutOutcome::Done(_)) {
        return Ok(Some("ignores If-None-Match and overwrites existing objects"));
    }
    let PutOutcome::Done(second) =
        objects.put_if(key, b"3".to_vec(), Some(&first), Some(3)).await?
    else {
        return Ok(Some("refuses If-Match with the version that it returned itself"));
    };
    if matches!(
        objects.put_if(key, b"4".to_vec(), Some(&first), Some(4)).await?,
        PutOutcome::Done(_)
    ) {
        return Ok(Some("ignores If-Match and overwrites a version other than the one named"));
    }
    let Some(current) = objects.get(key, 16).await? else {
        return Ok(Some("does not show an object right after it was written"));
    };
    if current.bytes != b"3" || !current.version.is_same(&second) {
        return Ok(Some("shows another version right after one was written"));
    }
    if current.version.revision != Some(3) {
        return Ok(Some("does not keep the metadata of objects"));
    }
    Ok(None)
}

/// A file in the state folder with the servers that have passed the check within a day.
struct ProbeCache {
    /// `None` without a state folder.
    file: Option<PathBuf>,
    /// The name of the server in the file: a hash of the bucket and the endpoint.
    name: String,
}

impl ProbeCache {
    /// The entry of the server that the URL and the settings name.
    fn new(url: &str, options: &BucketOptions) -> Self {
        let endpoint_line = |(name, value): (String, String)| {
            let name = name.to_ascii_lowercase();
            name.contains("endpoint").then_some(format!("{name}={value}\n"))
        };
        let bucket = url.split('/').take(3).collect::<Vec<_>>().join("/");
        let mut endpoints: Vec<String> = std::env::vars().filter_map(endpoint_line).collect();
        endpoints.extend(options.settings.clone().into_iter().filter_map(endpoint_line));
        endpoints.sort();
        let name =
            ContentHash::of(format!("{bucket}\n{}", endpoints.concat()).as_bytes()).to_string();
        let is_memory = url.starts_with("memory:");
        let file = options.state.as_ref().filter(|_| !is_memory);
        Self { file: file.map(|folder| folder.join("object-stores.json")), name }
    }

    /// The servers in the file, each with the time of its check.
    fn read(&self) -> BTreeMap<String, u64> {
        let text = self.file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Whether this server passed the check within a day.
    fn is_fresh(&self) -> bool {
        self.read().get(&self.name).is_some_and(|time| now_millis().abs_diff(*time) < DAY)
    }

    /// Adds this server to the file. An error is only logged: the check is then made again.
    fn record_success(&self) {
        let Some(file) = &self.file else { return };
        let mut servers = self.read();
        servers.retain(|_, time| now_millis().abs_diff(*time) < DAY);
        servers.insert(self.name.clone(), now_millis());
        let write = || -> std::io::Result<()> {
            let folder = file.parent().unwrap_or(file);
            let temp = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&temp, &servers)?;
            temp.persist(file)?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::debug!(%error, "cannot record that the server passed the check");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_server_is_kept_for_a_day() {
        let state = tempfile::tempdir().expect("folder");
        let options =
            BucketOptions { state: Some(state.path().into()), ..BucketOptions::default() };
        let cache = ProbeCache::new("s3://bucket/one", &options);
        assert!(!cache.is_fresh());
        cache.record_success();
        assert!(cache.is_fresh());
        assert!(
            ProbeCache::new("s3://bucket/two", &options).is_fresh(),
            "the check is for the whole bucket"
        );
        assert!(!ProbeCache::new("s3://other/one", &options).is_fresh());
        let age = |by: u64| {
            let known = BTreeMap::from([(cache.name.clone(), now_millis() - by)]);
            let file = cache.file.as_ref().expect("a file");
            fs::write(file, serde_json::to_string(&known).expect("JSON")).expect("written");
        };
        age(DAY - 60_000);
        assert!(cache.is_fresh());
        age(DAY);
        assert!(!cache.is_fresh());
    }
}
