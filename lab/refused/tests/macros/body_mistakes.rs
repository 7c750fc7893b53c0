//! What is wrong in a body is said at the place in the body.

#[arc::main]
async fn no_value() -> u8 {
    let _ = 5;
}

#[arc::main]
async fn wrong_end() {
    5
}

#[arc::main]
async fn wrong_return() -> Result<u8, std::num::ParseIntError> {
    let number = "4".parse()?;
    if number == 4 {
        return Ok("four");
    }
    Ok(number)
}

#[arc::main]
async fn question_mark() {
    "4".parse::<u8>()?;
}

#[arc::main]
async fn unknown_type() {
    let _ = Default::default();
}

#[arc::main]
async fn name_of_the_macro() {
    builder.workers(2);
}

#[arc::main]
async fn main(count: u8) {}
