// Package ring keeps the last values of a stream in memory of a fixed size.
package ring

import "errors"

// ErrEmpty is returned where a value is asked of a ring without values.
var ErrEmpty = errors.New("ring: no values")

// Ring holds the last values that were added.
type Ring struct {
	values []float64
	next   int
	full   bool
}

// New makes a ring that holds size values.
func New(size int) (*Ring, error) {
	if size < 1 {
		return nil, errors.New("ring: size must be at least 1")
	}
	return &Ring{values: make([]float64, size)}, nil
}

// Add appends a value; the oldest one leaves a full ring.
func (r *Ring) Add(value float64) {
	r.values[r.next] = value
	r.next = (r.next + 1) % len(r.values)
	if r.next == 0 {
		r.full = true
	}
}

// Len is the number of values held.
func (r *Ring) Len() int {
	if r.full {
		return len(r.values)
	}
	return r.next
}

// Mean is the average of the values held.
func (r *Ring) Mean() (float64, error) {
	if r.Len() == 0 {
		return 0, ErrEmpty
	}
	sum := 0.0
	for i := 0; i < r.Len(); i++ {
		sum += r.values[i]
	}
	return sum / float64(r.Len()), nil
}

// Max is the largest of the values held.
func (r *Ring) Max() (float64, error) {
	if r.Len() == 0 {
		return 0, ErrEmpty
	}
	max := r.values[0]
	for i := 1; i < r.Len(); i++ {
		if r.values[i] > max {
			max = r.values[i]
		}
	}
	return max, nil
}
