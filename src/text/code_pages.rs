//! Encodings with one byte per character that some files have but the web's Encoding Standard does
//! not: the code pages of DOS and of the Macintosh, and the ISO encodings that the standard replaces
//! by those of Windows.

/// An encoding with one byte per character.
#[derive(Debug, PartialEq, Eq)]
pub struct CodePage {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    /// The characters of the bytes from 0x80 on, with U+FFFD for a byte that has none.
    characters: &'static str,
}

impl CodePage {
    /// The code page with this name or alias.
    pub(super) fn by_name(name: &str) -> Option<&'static Self> {
        CODE_PAGES.iter().find(|code_page| {
            code_page.name.eq_ignore_ascii_case(name)
                || code_page.aliases.iter().any(|other| other.eq_ignore_ascii_case(name))
        })
    }

    /// The characters of the bytes from 0x80 on.
    fn upper_half(&self) -> impl Iterator<Item = char> {
        self.characters.chars()
    }

    /// The text of bytes; `None` when one of them is unmapped.
    pub(super) fn decode(&self, bytes: &[u8]) -> Option<String> {
        let upper: Vec<char> = self.upper_half().collect();
        bytes
            .iter()
            .map(|byte| match byte.checked_sub(0x80) {
                None => Some(char::from(*byte)),
                Some(at) => upper.get(usize::from(at)).copied().filter(|c| *c != UNMAPPED),
            })
            .collect()
    }

    /// The bytes of text, or the first character that has none.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u8>, char> {
        let byte = |c: char| match u8::try_from(c) {
            Ok(byte) if byte < 0x80 => Ok(byte),
            _ => self
                .upper_half()
                .zip(0x80..=0xff)
                .find(|(mapped, _)| *mapped == c)
                .map(|(_, b)| b)
                .ok_or(c),
        };
        text.chars().map(byte).collect()
    }
}

const UNMAPPED: char = char::REPLACEMENT_CHARACTER;

/// Every code page.
pub(super) static CODE_PAGES: [CodePage; 16] = [
    CodePage {
        name: "IBM437",
        aliases: &["cp437", "437"],
        characters: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧\
╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    CodePage {
        name: "IBM850",
        aliases: &["cp850", "850"],
        characters: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤\
ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    CodePage {
        name: "IBM852",
        aliases: &["cp852", "852"],
        characters: "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤\
đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}",
    },
    CodePage {
        name: "IBM855",
        aliases: &["cp855", "855"],
        characters: "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐└┴┬├─┼кК╚╔╩╦╠═╬¤\
лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}",
    },
    CodePage {
        name: "IBM857",
        aliases: &["cp857", "857"],
        characters: "ÇüéâäàåçêëèïîıÄÅÉæÆôöòûùİÖÜø£ØŞşáíóúñÑĞğ¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤\
ºªÊËÈ\u{fffd}ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµ\u{fffd}×ÚÛÙìÿ¯´\u{ad}±\u{fffd}¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    CodePage {
        name: "IBM858",
        aliases: &["cp858", "858"],
        characters: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤\
ðÐÊËÈ€ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    CodePage {
        name: "IBM862",
        aliases: &["cp862", "862"],
        characters: "אבגדהוזחטיךכלםמןנסעףפץצקרשת¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧\
╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    CodePage {
        name: "IBM863",
        aliases: &["cp863", "863"],
        characters: "ÇüéâÂà¶çêëèïî‗À§ÉÈÊôËÏûù¤ÔÜ¢£ÙÛƒ¦´óú¨¸³¯Î⌐¬½¼¾«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧\
╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    CodePage {
        name: "IBM865",
        aliases: &["cp865", "865"],
        characters: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø₧ƒáíóúñÑªº¿⌐¬½¼¡«¤░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧\
╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    CodePage {
        name: "x-mac-ce",
        aliases: &["mac-latin2", "macce", "mac-ce", "x-mac-centraleurroman"],
        characters: "ÄĀāÉĄÖÜáąČäčĆćéŹźĎíďĒēĖóėôöõúĚěü†°Ę£§•¶ß®©™ę¨≠ģĮįĪ≤≥īĶ∂∑łĻļĽľĹĺŅņŃ¬√ńŇ∆«»…\u{a0}\
ňŐÕőŌ–—“”‘’÷◊ōŔŕŘ‹›řŖŗŠ‚„šŚśÁŤťÍŽžŪÓÔūŮÚůŰűŲųÝýķŻŁżĢˇ",
    },
    CodePage {
        name: "x-mac-greek",
        aliases: &["mac-greek"],
        characters: "Ä¹²É³ÖÜ΅àâä΄¨çéèêë£™îï•½‰ôö¦€ùûü†ΓΔΘΛΞΠß®©ΣΪ§≠°·Α±≤≥¥ΒΕΖΗΙΚΜΦΫΨΩάΝ¬ΟΡ≈Τ«»…\u{a0}\
ΥΧΆΈœ–―“”‘’÷ΉΊΌΎέήίόΏύαβψδεφγηιξκλμνοπώρστθωςχυζϊϋΐΰ\u{ad}",
    },
    CodePage {
        name: "x-mac-turkish",
        aliases: &["mac-turkish"],
        characters: "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u{a0}\
ÀÃÕŒœ–—“”‘’÷◊ÿŸĞğİıŞş‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{f8ff}ÒÚÛÙ\u{f8a0}ˆ˜¯˘˙˚¸˝˛ˇ",
    },
    CodePage {
        name: "x-mac-icelandic",
        aliases: &["mac-iceland", "mac-icelandic"],
        characters: "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûüÝ°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u{a0}\
ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€ÐðÞþý·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{f8ff}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ",
    },
    CodePage {
        name: "ISO-8859-1",
        aliases: &[],
        characters: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\
\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\
\u{9c}\u{9d}\u{9e}\u{9f}\u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍ\
ÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ",
    },
    CodePage {
        name: "ISO-8859-9",
        aliases: &[],
        characters: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\
\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\
\u{9c}\u{9d}\u{9e}\u{9f}\u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍ\
ÎÏĞÑÒÓÔÕÖ×ØÙÚÛÜİŞßàáâãäåæçèéêëìíîïğñòóôõö÷øùúûüışÿ",
    },
    CodePage {
        name: "ISO-8859-11",
        aliases: &[],
        characters: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\
\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\
\u{9c}\u{9d}\u{9e}\u{9f}\u{a0}กขฃคฅฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรฤลฦวศษสหฬอฮฯะัา\
ำิีึืฺุู\u{fffd}\u{fffd}\u{fffd}\u{fffd}฿เแโใไๅๆ็่้๊๋์ํ๎๏๐๑๒๓๔๕๖๗๘๙๚๛\u{fffd}\u{fffd}\
\u{fffd}\u{fffd}",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_page_has_128_upper_bytes_and_round_trips() {
        for code_page in &CODE_PAGES {
            assert_eq!(code_page.upper_half().count(), 128, "{}", code_page.name);
            let bytes: Vec<u8> =
                (0..=0xff).filter(|byte| code_page.decode(&[*byte]).is_some()).collect();
            let text = code_page.decode(&bytes).expect("text");
            assert_eq!(code_page.encode(&text), Ok(bytes), "{}", code_page.name);
        }
        assert_eq!(CodePage::by_name("CP850").and_then(|t| t.encode("é").ok()), Some(vec![0x82]));
        assert_eq!(
            CodePage::by_name("x-mac-ce").and_then(|t| t.encode("ż").ok()),
            Some(vec![0xfd])
        );
    }
}
