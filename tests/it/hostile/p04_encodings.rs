//! Files in old encodings: what is written is in the file's own encoding, or nothing is.

use restitch::internals::text::{Encoding, Snapshot};
use serde_json::json;

use super::Sandbox;

/// An encoding by name, text of a language that is written in it, and characters of that
/// language.
const FILES: &[(&str, &str, &str)] = &[
    ("windows-1252", "déjà vu à côté du café crème, très élégant", "éüœ’€ñ"),
    ("ISO-8859-1", "déjà vu à côté du café crème, très élégant", "éüñ"),
    ("ISO-8859-15", "déjà vu à côté du café crème, très élégant", "éüœ€ñ"),
    ("macintosh", "déjà vu à côté du café crème, très élégant", "éüœ’ñ"),
    ("windows-1250", "zażółć gęślą jaźń, błąd w pliku, proszę spróbować", "żśźŁ€"),
    ("ISO-8859-2", "zażółć gęślą jaźń, błąd w pliku, proszę spróbować", "żśźŁ"),
    ("windows-1251", "Привет, мир! Это проверка кодировки файла.", "жЮё№"),
    ("KOI8-R", "Привет, мир! Это проверка кодировки файла.", "жЮё"),
    ("IBM866", "Привет, мир! Это проверка кодировки файла.", "жЮё№"),
    ("ISO-8859-5", "Привет, мир! Это проверка кодировки файла.", "жЮё№"),
    ("x-mac-cyrillic", "Привет, мир! Это проверка кодировки файла.", "жЮё№"),
    ("windows-1253", "Καλημέρα κόσμε, αυτό είναι ένα αρχείο.", "ωΆύ"),
    ("ISO-8859-7", "Καλημέρα κόσμε, αυτό είναι ένα αρχείο.", "ωΆύ"),
    ("windows-1254", "Dosya çok büyük, lütfen şifreyi değiştirin", "ığÜé"),
    ("windows-1257", "Čia yra lietuviškas tekstas su žodžiais", "ėųŠ"),
    ("Shift_JIS", "これは日本語の文章です。設定を変更してください", "語新値"),
    ("EUC-JP", "これは日本語の文章です。設定を変更してください", "語新値"),
    ("ISO-2022-JP", "これは日本語の文章です。設定を変更してください", "語新値"),
    ("GBK", "这是中文文本，用来测试编码检测。请修改设置", "新值件"),
    ("Big5", "這是中文文本，用來測試編碼檢測。請修改設定", "新值件"),
    ("EUC-KR", "이것은 한국어 문장입니다. 설정을 변경하십시오", "값새"),
];

/// A character that the file does not have is written once its encoding is named, and not before.
#[test]
fn a_character_is_written_in_the_files_encoding_or_not_at_all() {
    let sandbox = Sandbox::new();
    for (name, same) in
        [("latin-1", "latin1"), ("latin_1", "latin1"), ("ISO 8859-15", "iso8859-15")]
    {
        assert!(Encoding::from_name(name).is_some(), "{name}");
        assert_eq!(Encoding::from_name(name), Encoding::from_name(same), "{name}");
    }
    // What the Encoding Standard takes for another one has characters that the named one has not.
    assert_eq!(Encoding::from_name("ISO-8859-9"), None);
    let latin = Encoding::from_name("ISO-8859-1").expect("known");
    assert!(latin.encode("€").is_err(), "windows-1252 has it");
    let mut edits = Vec::new();
    for (at, (name, text, new)) in FILES.iter().enumerate() {
        let encoding = Encoding::from_name(name).unwrap_or_else(|| panic!("{name}"));
        let encode = |text: &str| encoding.encode(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        for c in new.chars().filter(|c| !text.contains(*c)) {
            let file = format!("f{at}-{}", u32::from(c));
            let whole = |value: &str| encode(&format!("name = {text}\nkey = {value}\nend\n"));
            sandbox.write(&file, whole("old"));
            let call =
                json!({ "path": file, "old_str": "key = old", "new_str": format!("key = {c}") });
            edits.push((*name, call, file, whole("old"), whole(&c.to_string())));
        }
    }
    let send = |encoded: bool| {
        let requests: Vec<_> = edits
            .iter()
            .map(|(name, call, ..)| {
                let mut call = call.clone();
                if encoded {
                    call["encoding"] = (*name).into();
                }
                json!({ "arguments": call })
            })
            .collect();
        sandbox.batch(&requests)
    };
    for (reply, (name, _, file, before, _)) in send(false).iter().zip(&edits) {
        assert_eq!(reply["code"], "EDIT_UNENCODABLE", "{name}: {reply}");
        assert_eq!(sandbox.bytes(file), *before, "{name}: {reply}");
    }
    for (reply, (name, _, file, _, after)) in send(true).iter().zip(&edits) {
        assert_eq!(reply["ok"], true, "{name}: {reply}");
        assert_eq!(sandbox.bytes(file), *after, "{name}: {reply}");
    }
}

#[test]
fn characters_that_the_file_has_are_written_and_ascii_always() {
    let sandbox = Sandbox::new();
    let encoding = Encoding::from_name("macintosh").expect("known");
    let text = |value: &str| encoding.encode(&format!("café {value}\n")).expect("fits");
    sandbox.write("f", text("old"));
    // What the file has is read and written as the same byte, whatever that stands for.
    let e = Snapshot::decode(text("old")).expect("text").text().chars().nth(3).expect("é");
    for (old, new, wanted) in [("old", "new".to_owned(), "new"), ("new", format!("n{e}w"), "néw")]
    {
        let call = json!({ "path": "f", "old_str": old, "new_str": new });
        let reply = &sandbox.batch(&[json!({ "arguments": call })])[0];
        assert_eq!(reply["ok"], true, "{reply}");
        assert_eq!(sandbox.bytes("f"), text(wanted));
    }
}

#[test]
fn a_file_of_no_known_encoding_gets_no_utf_8_mixed_in() {
    let sandbox = Sandbox::new();
    // Bytes that are unassigned or controls in every likely encoding.
    let bytes = b"key = \x81\x8d\x8f\x90\x9d\xff\x81\x20\nother = old\n".to_vec();
    sandbox.write("f", &bytes);
    let edit = |new: &str| json!({ "arguments": { "path": "f", "old_str": "other = old", "new_str": new } });
    let reply = &sandbox.batch(&[edit("other = für")])[0];
    assert_eq!(reply["code"], "EDIT_UNENCODABLE", "{reply}");
    assert_eq!(sandbox.bytes("f"), bytes);
    assert_eq!(sandbox.batch(&[edit("other = fuer")])[0]["ok"], true);
    assert!(sandbox.bytes("f").starts_with(&bytes[..20]));
}

#[test]
fn nul_is_refused_in_utf_16_too_and_undo_works_on_what_was_written() {
    let sandbox = Sandbox::new();
    let utf16 = |text: &str| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    sandbox.write("f", utf16("one\n"));
    let edit = |old: &str, new: &str| json!({ "arguments": { "path": "f", "old_str": old, "new_str": new } });
    let replies = sandbox.batch(&[
        edit("one", "a\0b"),
        edit("one", "ünï"),
        json!({ "tool": "undo", "arguments": {} }),
    ]);
    assert_eq!(replies[0]["code"], "EDIT_INVALID_ARGUMENTS", "{}", replies[0]);
    assert_eq!(replies[1]["ok"], true, "{}", replies[1]);
    assert_eq!(replies[2]["ok"], true, "{}", replies[2]);
    assert_eq!(sandbox.bytes("f"), utf16("one\n"));

    // What the caller named the encoding of is no text for the guess, and can be undone.
    let bare: Vec<u8> = "日本\nold\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    sandbox.write("g", &bare);
    let named = json!({ "arguments": { "path": "g", "old_str": "old", "new_str": "本", "encoding": "utf-16le" } });
    let replies = sandbox.batch(&[named, json!({ "tool": "undo", "arguments": {} })]);
    assert_eq!(replies[0]["ok"], true, "{}", replies[0]);
    assert_eq!(replies[1]["ok"], true, "{}", replies[1]);
    assert_eq!(sandbox.bytes("g"), bare);
}

/// A model learns of `encoding` from the declarations, and may send its arguments as a text.
#[test]
fn every_tool_that_writes_text_declares_the_encoding() {
    let sandbox = Sandbox::new();
    let out = sandbox.run(&["schema", "mcp"], b"");
    let listed: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    for tool in listed["tools"].as_array().expect("tools") {
        let named = tool["inputSchema"]["properties"].get("encoding").is_some();
        let writes = tool["annotations"]["readOnlyHint"] == false && tool["name"] != "undo";
        assert_eq!(named, writes, "{}", tool["name"]);
    }
    let encoding = Encoding::from_name("ISO-8859-15").expect("known");
    sandbox.write("f", encoding.encode("prix = é\nnom = x\n").expect("fits"));
    let call = json!({ "path": "f", "old_str": "nom = x", "new_str": "nom = €", "encoding": "ISO-8859-15" });
    let reply = &sandbox.batch(&[json!({ "arguments": call.to_string() })])[0];
    assert_eq!(reply["ok"], true, "{reply}");
    assert_eq!(sandbox.bytes("f"), encoding.encode("prix = é\nnom = €\n").expect("fits"));
}
