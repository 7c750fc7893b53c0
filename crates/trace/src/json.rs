pub(crate) fn render(_: &crate::Timeline) -> String {
    String::new()
}
