package causality

import "github.com/tracepredict/tracepredict/observer/event"

// Variable returns V_x^a and V_x^w.
func (c *Clocks) Variable(id event.ObjectID) (access, write Clock) {
	if o := c.objects[id]; o != nil {
		return o.access, o.write
	}
	return nil, nil
}

// Live returns the number of threads plus that of objects that have a clock.
func (c *Clocks) Live() int { return len(c.threads) + len(c.objects) }
