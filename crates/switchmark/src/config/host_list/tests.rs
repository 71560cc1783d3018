//! Names that lists stand for, and what cannot be read.

use proptest::prelude::*;

use super::*;

fn names(text: &str) -> Vec<String> {
    let list = HostList::parse(text, 0..text.len()).expect(text);
    list.words.into_iter().map(|word| word.text).collect()
}

#[test]
fn brackets_stand_for_names() {
    let check = |text: &str, expected: &str| {
        assert_eq!(names(text).join(" "), expected, "{text}");
    };
    check("a", "a");
    check("a,b", "a b");
    check("node[001-003,007]", "node001 node002 node003 node007");
    check("n[1-2],gpu[7],login", "n1 n2 gpu7 login");
    check("n[9-11]", "n9 n10 n11");
    check("n[09-11]", "n09 n10 n11");
    check("n[98-101]", "n98 n99 n100 n101");
    check("n[098-101]", "n098 n099 n100 n101");
    check("r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02");
    check("srun:node[001-002]:eth1", "srun:node001:eth1 srun:node002:eth1");
    check("ssh:user@n[1-2]", "ssh:user@n1 ssh:user@n2");
    check("n[1-2].rack[3]:eth[0-1]", "n1.rack3:eth0 n1.rack3:eth1 n2.rack3:eth0 n2.rack3:eth1");
    check("n[3,1]", "n3 n1");
}

#[test]
fn an_ipv6_address_keeps_its_brackets() {
    let check = |text: &str, expected: &str| {
        assert_eq!(names(text).join(" "), expected, "{text}");
    };
    check("root@[2001:db8::1]:eth1", "root@[2001:db8::1]:eth1");
    check("ssh://[fe80::1%eth0]:22:eth1,n[1-2]:e", "ssh://[fe80::1%eth0]:22:eth1 n1:e n2:e");
    check("[2001:db8::1]:eth[1-2]", "[2001:db8::1]:eth1 [2001:db8::1]:eth2");
}

#[test]
fn a_fault_names_its_place_and_a_remedy() {
    let check = |text: &str, place: &str, message: &str, hint: &str| {
        let fault = HostList::parse(text, 0..text.len()).expect_err(text);
        assert_eq!(&text[fault.span.clone()], place, "{text}: {fault:?}");
        assert!(fault.message.contains(message), "{text}: {fault:?}");
        assert!(fault.hint.contains(hint), "{text}: {fault:?}");
    };
    check("n[3-1]", "3-1", "ends before it begins", "write 1-3");
    check("n[1,a-b]", "a-b", "neither a number nor a range", "numbers");
    check("n[1-2-3]", "1-2-3", "neither a number nor a range", "numbers");
    check("n[]", "", "a number is missing", "numbers");
    check("n[1,]", "", "a number is missing", "numbers");
    check("n[1-]", "1-", "neither", "numbers");
    check("n[1 -2]", "1 -2", "neither", "numbers");
    check("m,n[1-2", "[1-2", "never closed", "`]`");
    check("n1-2],m", "]", "closes nothing", "`[`");
    check("n[1-[2]]", "[", "within brackets", "close");
    check("a,,b", "", "a name is missing", "comma");
    check("a,", "", "a name is missing", "comma");
    check("", "", "a name is missing", "comma");
    check("n[1-010]", "1-010", "different widths", "write 001-010");
    check("n[1-1024],last", "last", "has 1025 names", "testbed file");
    check("n[0-999999999999999999]", "n[0-999999999999999999]", "1000000000000000000", "1024");
    check(
        "n[1-9999]m[1-9999]x[1-9999]y[1-9999]z[1-9999]",
        "n[1-9999]m[1-9999]x[1-9999]y[1-9999]z[1-9999]",
        "very many",
        "1024",
    );
    check("n[1-12345678901234567890]", "1-12345678901234567890", "20 digits", "at most 18");
    assert_eq!(names("n[1-1024]").len(), MOST);
}

#[test]
fn places_are_those_of_the_whole_text() {
    let text = "hosts:a,n[1-2]=b";
    let list = HostList::parse(text, 6..14).expect("a list");
    let places: Vec<&str> = list.words.iter().map(|word| &text[word.span.clone()]).collect();
    assert_eq!(places, ["a", "n[1-2]", "n[1-2]"]);
}

#[test]
fn a_name_twice_is_found() {
    let text = "n[1-3],m,n2";
    let list = HostList::parse(text, 0..text.len()).expect("a list");
    let twice = list.repeated(|word| word.text.clone()).expect("twice");
    assert_eq!(
        (&text[twice.first.span.clone()], &text[twice.again.span.clone()]),
        ("n[1-3]", "n2")
    );
    let text = "n[1,1]";
    let list = HostList::parse(text, 0..text.len()).expect("a list");
    assert!(list.repeated(|word| word.text.clone()).is_some());
}

#[test]
fn names_are_written_with_brackets() {
    let check = |text: &str| {
        let list = HostList::parse(text, 0..text.len()).expect(text);
        assert_eq!(list.to_string(), text);
    };
    for text in [
        "a",
        "a,b",
        "node[001-003,007]",
        "srun:node[001-500]:eth1",
        "n[98-101]",
        "n[098-101],login",
        "n[3,1]",
        "[fe80::1]:eth1,[fe80::2]:eth1",
    ] {
        check(text);
    }
    let list = HostList::from_names(["r1n1", "r1n2", "r2n1", "r2n2"].map(str::to_owned));
    assert_eq!(list.to_string(), "r1n[1-2],r2n[1-2]");
}

/// An element and how many names it stands for.
fn element() -> impl Strategy<Value = (String, usize)> {
    let numbers = (0_u64..2000, 0_u64..5, 0_usize..6).prop_map(|(first, more, width)| {
        let last = first + more;
        let text = if more == 0 {
            format!("{first:0width$}")
        } else {
            format!("{first:0width$}-{last:0width$}")
        };
        (text, more as usize + 1)
    });
    let bracket = prop::collection::vec(numbers, 1..4).prop_map(|ranges| {
        let texts: Vec<&str> = ranges.iter().map(|(text, _)| text.as_str()).collect();
        (format!("[{}]", texts.join(",")), ranges.iter().map(|(_, count)| count).sum::<usize>())
    });
    let plain = "[a-z0-9:@._-]{0,6}".prop_map(|text| (text, 1));
    let pieces = prop::collection::vec(prop_oneof![2 => plain, 1 => bracket], 0..3);
    pieces.prop_map(|pieces| {
        let text: String = pieces.iter().map(|(text, _)| text.as_str()).collect();
        (format!("h{text}"), pieces.iter().map(|(_, count)| count).product())
    })
}

proptest! {
    #[test]
    fn as_many_names_as_the_brackets_say(elements in prop::collection::vec(element(), 1..3)) {
        let texts: Vec<&str> = elements.iter().map(|(text, _)| text.as_str()).collect();
        let text = texts.join(",");
        let count: usize = elements.iter().map(|(_, count)| count).sum();
        match HostList::parse(&text, 0..text.len()) {
            Ok(list) => prop_assert_eq!(list.words.len(), count),
            Err(fault) => prop_assert!(count > MOST, "{}: {:?}", text, fault),
        }
    }

    #[test]
    fn names_come_back(elements in prop::collection::vec(element(), 1..3)) {
        let texts: Vec<&str> = elements.iter().map(|(text, _)| text.as_str()).collect();
        let text = texts.join(",");
        if let Ok(list) = HostList::parse(&text, 0..text.len()) {
            let written = list.to_string();
            let names: Vec<String> = list.words.into_iter().map(|word| word.text).collect();
            prop_assert_eq!(self::names(&written), names, "{}", written);
        }
    }

    #[test]
    fn any_text_has_names_or_a_fault(text in "[a-z0-9\\[\\],:=%é-]{0,40}") {
        match HostList::parse(&text, 0..text.len()) {
            Ok(list) => prop_assert!(list.words.len() <= MOST),
            Err(fault) => prop_assert!(text.get(fault.span.clone()).is_some()),
        }
    }
}
