// Package lattice builds the computation lattice of a run, level by level and
// online, and runs monitors over all its paths (Sen, Roşu, Agha, "Online Efficient
// Predictive Safety Analysis of Multithreaded Programs", Section 4).
package lattice
