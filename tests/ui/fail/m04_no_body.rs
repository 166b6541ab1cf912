//! M4.

use tairlock::{Error, distributed_lock};

trait Repository {
    #[distributed_lock(key = "a")]
    async fn load(&self) -> Result<u8, Error>;

    #[distributed_lock(key = "a")]
    fn load_blocking(&self) -> Result<u8, Error>;
}

fn main() {}
