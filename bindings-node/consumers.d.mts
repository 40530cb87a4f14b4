export * from './consumers.js'
