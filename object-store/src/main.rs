//! The `restitch` command whose root may also be a bucket.

use std::process::ExitCode;
use std::sync::Arc;

use restitch::cli::UrlRoot;
use restitch::port::FileStore;
use restitch_object_store::{BucketOptions, BucketStore};

fn main() -> ExitCode {
    restitch::cli::main_with(|root| Box::pin(open(root)))
}

async fn open(root: UrlRoot) -> Result<Arc<dyn FileStore>, String> {
    let UrlRoot { url, settings, allow_protected, state } = root;
    let options = BucketOptions { settings, allow_protected, state, ..BucketOptions::default() };
    Ok(Arc::new(BucketStore::open(&url, options).await?))
}
