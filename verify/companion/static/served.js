COMPANION.served = false;
