// Statistics, read from the numbers that the native half leaves.
'use strict'

const { native, numbers } = require('./native.js')

const STATES = ['open', 'window_out', 'complete', 'failed', 'taken']

/** The statistics of one body that the last native call left. */
function readInfo() {
  return {
    status: numbers[0] === 0 ? 'ok' : native.statusName(numbers[0]),
    sourceError: numbers[1],
    truncated: numbers[2] === 1,
    state: STATES[numbers[3]],
    received: numbers[4],
    expected: numbers[5] < 0 ? undefined : numbers[5],
    limit: numbers[6] < 0 ? undefined : numbers[6],
    length: numbers[7],
    sourceCalls: numbers[8],
    pendings: numbers[9],
    copied: numbers[10],
    rents: numbers[11],
    allocations: numbers[12],
    allocatedBytes: numbers[13],
    peakHeld: numbers[14],
    waste: numbers[15],
  }
}

/** The statistics of a pool that the last native call left. */
function readPoolStats() {
  return {
    rented: numbers[0],
    rentedBytes: numbers[1],
    released: numbers[2],
    releasedBytes: numbers[3],
    reused: numbers[4],
    reusedBytes: numbers[5],
    allocated: numbers[6],
    allocatedBytes: numbers[7],
    freed: numbers[8],
    freedBytes: numbers[9],
    outstanding: numbers[10],
    outstandingBytes: numbers[11],
    retained: numbers[12],
    retainedBytes: numbers[13],
    peakBytes: numbers[14],
    refused: numbers[15],
  }
}

module.exports = { readInfo, readPoolStats }
