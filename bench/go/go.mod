module bench

go 1.24
