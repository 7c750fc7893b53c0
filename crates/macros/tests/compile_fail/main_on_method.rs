struct Server;

impl Server {
    #[arc::main]
    async fn run(&self) {}
}

fn main() {
    let _ = Server.run();
}
