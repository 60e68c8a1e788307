//! One answer for all: across processes, at once, and when the one that asks dies.

use super::*;

#[test]
fn two_processes_share_one_answer() {
    let Some(redis) = Redis::start("two_processes_share_one_answer") else { return };
    let (model, url) = (good_model(), redis.url());
    let (first, second) = (Sandbox::new(), Sandbox::new());
    let (reply, log) = first.edit(&model, Some(&url), "refund");
    assert_eq!(first.text(), edited(&["refund"]), "{reply}\n{log}");
    assert_eq!(reply["report"]["model"]["calls"], 2, "{reply}");
    let (reply, log) = second.edit(&model, Some(&url), "refund");
    assert_eq!(second.text(), edited(&["refund"]), "{reply}\n{log}");
    assert_eq!(reply["report"]["model"]["calls"], 0, "{reply}");
    assert_eq!(reply["report"]["model"]["cached"], 2, "{reply}");
    assert_eq!(model.seen().len(), 2);
    assert_eq!(log, "", "nothing to tell");
}

/// A day, or what the configuration says.
#[test]
fn an_answer_is_kept_for_a_day_or_as_long_as_told() {
    const DAY: i64 = 24 * 3600;
    for (config, seconds) in [("", DAY), ("keep = 600\n", 600), ("keep = 2592000\n", 30 * DAY)] {
        let test = "an_answer_is_kept_for_a_day_or_as_long_as_told";
        let Some(redis) = Redis::start(test) else { return };
        let (model, sandbox) = (good_model(), Sandbox::new());
        let config = format!("[shared]\ntimeout = 30\n{config}");
        let mut command = sandbox.configured(&model, &redis.url(), &config);
        wait_for(edit(&mut command, "refund").spawn().expect("starts"));
        assert_eq!(sandbox.text(), edited(&["refund"]));
        let keys = redis.keys("answer");
        assert_eq!(keys.len(), 2);
        for key in keys {
            let mut other = redis.other();
            let left: i64 = redis::cmd("TTL").arg(&key).query(&mut other).expect("time to live");
            assert!((seconds - 120..=seconds).contains(&left), "{config}: {left} s");
        }
    }
}

/// Each file, model and secret has its own answers.
#[test]
fn what_an_answer_depends_on_is_in_its_name() {
    let Some(redis) = Redis::start("what_an_answer_depends_on_is_in_its_name") else { return };
    let (model, url) = (good_model(), redis.url());
    Sandbox::new().edit(&model, Some(&url), "refund");
    let asked = |change: &dyn Fn(&Sandbox, &mut Command)| {
        let (before, sandbox) = (model.seen().len(), Sandbox::new());
        let mut command = sandbox.command(&model, Some(&url));
        change(&sandbox, &mut command);
        wait_for(edit(&mut command, "refund").spawn().expect("starts"));
        assert!(sandbox.text().contains("discount"), "{}", sandbox.text());
        model.seen().len() - before
    };
    assert_eq!(asked(&|_, _| {}), 0);
    assert_eq!(asked(&|_, command| _ = command.env("RESTITCH_MODEL", "another")), 2);
    let other = "another-secret-of-the-tests-0123456789";
    assert_eq!(asked(&|_, command| _ = command.env("RESTITCH_SHARED_SECRET", other)), 2);
    let changed = |sandbox: &Sandbox, _: &mut Command| {
        let path = sandbox.folder.path().join("root/sums.rs");
        fs::write(path, file() + "// changed\n").expect("file");
    };
    assert_eq!(asked(&changed), 2);
}

#[test]
fn processes_that_ask_at_once_cost_one_question() {
    let Some(redis) = Redis::start("processes_that_ask_at_once_cost_one_question") else { return };
    let processes = count(6, 24);
    // No answer before all have asked or wait.
    let ((model, go), url) = (model_that_waits(), redis.url());
    let sandboxes: Vec<Sandbox> = (0..processes).map(|_| Sandbox::new()).collect();
    let children: Vec<Child> =
        sandboxes.iter().map(|sandbox| sandbox.start(&model, Some(&url), "tariff")).collect();
    // The one that asks has sent something else last.
    wait_until("all the others wait", || {
        redis.waiting() + 1 >= processes && model.seen().len() == 1
    });
    go.store(true, Ordering::SeqCst);
    for (child, sandbox) in children.into_iter().zip(&sandboxes) {
        let (reply, log) = wait_for(child);
        assert_eq!(sandbox.text(), edited(&["tariff"]), "{reply}\n{log}");
    }
    let asked: Vec<_> = model.seen().iter().map(Seen::kind).collect();
    println!("{processes} processes with the same question: {} requests ({asked:?})", asked.len());
    assert_eq!(asked, ["correct_old", "adjust_new"]);
}

/// The first process asks and never gets an answer. It is killed, or stopped, while another waits
/// for it.
fn the_owner_goes(test: &str, signal: Signal) {
    let Some(redis) = Redis::start(test) else { return };
    let model = ModelServer::start(|seen, number| match number {
        0 => Answer::Stall(Vec::new()),
        _ => good(seen),
    });
    let (url, first, second) = (redis.url(), Sandbox::new(), Sandbox::new());
    let start = Instant::now();
    let mut owner = first.start(&model, Some(&url), "parcel");
    wait_until("the owner asks", || model.seen().len() == 1);
    let heir = second.start(&model, Some(&url), "parcel");
    wait_until("the other one waits", || redis.waiting() > 0);
    assert_eq!(model.seen().len(), 1, "one asks, one waits");
    kill_process(Pid::from_child(&owner), signal).expect("signalled");
    let gone = Instant::now();
    let (reply, log) = wait_for(heir);
    // The owner is taken for alive until five seconds after it was last heard of, which it is
    // every second.
    assert!(start.elapsed() >= Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(gone.elapsed() < Duration::from_secs(20), "{:?}", gone.elapsed());
    assert_eq!(second.text(), edited(&["parcel"]), "{reply}\n{log}");
    assert_eq!(model.seen().len(), 3, "its own two questions");
    let _ = owner.kill();
    let _ = owner.wait();
    assert_eq!(first.text(), file());
    // What the heir found out is there for the next.
    let third = Sandbox::new();
    third.edit(&model, Some(&url), "parcel");
    assert_eq!((third.text(), model.seen().len()), (edited(&["parcel"]), 3));
}

#[test]
fn when_the_owner_is_killed_another_asks() {
    the_owner_goes("when_the_owner_is_killed_another_asks", Signal::KILL);
}

#[test]
fn when_the_owner_stands_still_another_asks() {
    the_owner_goes("when_the_owner_stands_still_another_asks", Signal::STOP);
}

/// Whoever waits has a deadline of its own, and does not pass on that of the one that asks.
#[test]
fn no_call_waits_past_its_own_deadline() {
    let Some(redis) = Redis::start("no_call_waits_past_its_own_deadline") else { return };
    let model = ModelServer::start(|_, _| Answer::Stall(Vec::new()));
    let (url, first, second) = (redis.url(), Sandbox::new(), Sandbox::new());
    let mut owner = first.start(&model, Some(&url), "bonus");
    wait_until("the owner asks", || model.seen().len() == 1);
    let mut command =
        second.configured(&model, &url, "[model]\ntimeout = 1.5\n[shared]\ntimeout = 30\n");
    let start = Instant::now();
    let (reply, log) = wait_for(edit(&mut command, "bonus").spawn().expect("starts"));
    let took = start.elapsed();
    assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND", "{reply}\n{log}");
    assert_eq!(second.text(), file());
    assert_eq!(model.seen().len(), 1);
    assert!(took < Duration::from_secs(20), "{took:?}, and the owner has 40 s");
    let _ = owner.kill();
    let _ = owner.wait();
}

/// An answer that does not pass is not shared, and the next process asks again.
#[test]
fn an_answer_that_is_rejected_is_not_kept() {
    let Some(redis) = Redis::start("an_answer_that_is_rejected_is_not_kept") else { return };
    let model = ModelServer::start(|seen, number| match number {
        0 => Answer::Content(json!({ "corrected_target_snippet": "not in the file" }).to_string()),
        _ => good(seen),
    });
    let (url, sandbox) = (redis.url(), Sandbox::new());
    let (reply, log) = sandbox.edit(&model, Some(&url), "salary");
    assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND", "{reply}\n{log}");
    let mut other = redis.other();
    for key in redis.keys("answer") {
        let left: i64 = redis::cmd("PTTL").arg(&key).query(&mut other).expect("time to live");
        assert!(left <= 2000, "only for those who wait just now, not {left} ms");
    }
    wait_until("it is gone", || redis.keys("answer").is_empty());
    let (reply, log) = sandbox.edit(&model, Some(&url), "salary");
    assert_eq!(sandbox.text(), edited(&["salary"]), "{reply}\n{log}");
}
