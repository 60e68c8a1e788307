//! Encodings of one byte a character that the web does not have, and files do: the code
//! pages of DOS and of the Macintosh, and the ISO sets that the web reads as Windows'.
//! Each table has the characters of the bytes from 0x80 on; U+FFFD where there is none.

/// An encoding of one byte a character.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    pub(super) name: &'static str,
    pub(super) others: &'static [&'static str],
    characters: &'static str,
}

impl Table {
    /// The table of that name.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| {
            table.name.eq_ignore_ascii_case(name)
                || table.others.iter().any(|other| other.eq_ignore_ascii_case(name))
        })
    }

    fn upper(&self) -> impl Iterator<Item = char> {
        self.characters.chars()
    }

    /// The text of bytes; `None` when one stands for nothing.
    pub(super) fn decode(&self, bytes: &[u8]) -> Option<String> {
        let upper: Vec<char> = self.upper().collect();
        bytes
            .iter()
            .map(|byte| match byte.checked_sub(0x80) {
                None => Some(char::from(*byte)),
                Some(at) => upper.get(usize::from(at)).copied().filter(|c| *c != NONE),
            })
            .collect()
    }

    /// The bytes of text, or the first character that has none.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u8>, char> {
        let byte = |c: char| match u8::try_from(c) {
            Ok(byte) if byte < 0x80 => Ok(byte),
            _ => self.upper().zip(0x80..=0xff).find(|(own, _)| *own == c).map(|(_, b)| b).ok_or(c),
        };
        text.chars().map(byte).collect()
    }
}

const NONE: char = char::REPLACEMENT_CHARACTER;

/// Every table.
pub(super) static TABLES: [Table; 16] = [
    Table {
        name: "IBM437",
        others: &["cp437", "437"],
        characters: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧\
╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    Table {
        name: "IBM850",
        others: &["cp850", "850"],
        characters: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤\
ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    Table {
        name: "IBM852",
        others: &["cp852", "852"],
        characters: "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤\
đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}",
    },
    Table {
        name: "IBM855",
        others: &["cp855", "855"],
        characters: "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐└┴┬├─┼кК╚╔╩╦╠═╬¤\
лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}",
    },
    Table {
        name: "IBM857",
        others: &["cp857", "857"],
        characters: "ÇüéâäàåçêëèïîıÄÅÉæÆôöòûùİÖÜø£ØŞşáíóúñÑĞğ¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤\
ºªÊËÈ\u{fffd}ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµ\u{fffd}×ÚÛÙìÿ¯´\u{ad}±\u{fffd}¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    Table {
        name: "IBM858",
        others: &["cp858", "858"],
        characters: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤\
ðÐÊËÈ€ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    Table {
        name: "IBM862",
        others: &["cp862", "862"],
        characters: "אבגדהוזחטיךכלםמןנסעףפץצקרשת¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧\
╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    Table {
        name: "IBM863",
        others: &["cp863", "863"],
        characters: "ÇüéâÂà¶çêëèïî‗À§ÉÈÊôËÏûù¤ÔÜ¢£ÙÛƒ¦´óú¨¸³¯Î⌐¬½¼¾«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧\
╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    Table {
        name: "IBM865",
        others: &["cp865", "865"],
        characters: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø₧ƒáíóúñÑªº¿⌐¬½¼¡«¤░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧\
╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    Table {
        name: "x-mac-ce",
        others: &["mac-latin2", "macce", "mac-ce", "x-mac-centraleurroman"],
        characters: "ÄĀāÉĄÖÜáąČäčĆćéŹźĎíďĒēĖóėôöõúĚěü†°Ę£§•¶ß®©™ę¨≠ģĮįĪ≤≥īĶ∂∑łĻļĽľĹĺŅņŃ¬√ńŇ∆«»…\u{a0}\
ňŐÕőŌ–—“”‘’÷◊ōŔŕŘ‹›řŖŗŠ‚„šŚśÁŤťÍŽžŪÓÔūŮÚůŰűŲųÝýķŻŁżĢˇ",
    },
    Table {
        name: "x-mac-greek",
        others: &["mac-greek"],
        characters: "Ä¹²É³ÖÜ΅àâä΄¨çéèêë£™îï•½‰ôö¦€ùûü†ΓΔΘΛΞΠß®©ΣΪ§≠°·Α±≤≥¥ΒΕΖΗΙΚΜΦΫΨΩάΝ¬ΟΡ≈Τ«»…\u{a0}\
ΥΧΆΈœ–―“”‘’÷ΉΊΌΎέήίόΏύαβψδεφγηιξκλμνοπώρστθωςχυζϊϋΐΰ\u{ad}",
    },
    Table {
        name: "x-mac-turkish",
        others: &["mac-turkish"],
        characters: "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u{a0}\
ÀÃÕŒœ–—“”‘’÷◊ÿŸĞğİıŞş‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{f8ff}ÒÚÛÙ\u{f8a0}ˆ˜¯˘˙˚¸˝˛ˇ",
    },
    Table {
        name: "x-mac-icelandic",
        others: &["mac-iceland", "mac-icelandic"],
        characters: "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûüÝ°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u{a0}\
ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€ÐðÞþý·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{f8ff}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ",
    },
    Table {
        name: "ISO-8859-1",
        others: &[],
        characters: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\
\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\
\u{9c}\u{9d}\u{9e}\u{9f}\u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍ\
ÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ",
    },
    Table {
        name: "ISO-8859-9",
        others: &[],
        characters: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\
\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\
\u{9c}\u{9d}\u{9e}\u{9f}\u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍ\
ÎÏĞÑÒÓÔÕÖ×ØÙÚÛÜİŞßàáâãäåæçèéêëìíîïğñòóôõö÷øùúûüışÿ",
    },
    Table {
        name: "ISO-8859-11",
        others: &[],
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
    fn every_table_has_all_upper_bytes_and_comes_back() {
        for table in &TABLES {
            assert_eq!(table.upper().count(), 128, "{}", table.name);
            let bytes: Vec<u8> =
                (0..=0xff).filter(|byte| table.decode(&[*byte]).is_some()).collect();
            let text = table.decode(&bytes).expect("text");
            assert_eq!(table.encode(&text), Ok(bytes), "{}", table.name);
        }
        assert_eq!(Table::of("CP850").and_then(|t| t.encode("é").ok()), Some(vec![0x82]));
        assert_eq!(Table::of("x-mac-ce").and_then(|t| t.encode("ż").ok()), Some(vec![0xfd]));
    }
}
