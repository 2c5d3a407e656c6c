// SPDX-License-Identifier: MIT
// Package main runs telegraf's own input for nvidia-smi once, and prints each measurement's tags and fields.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/influxdata/telegraf"
	"github.com/influxdata/telegraf/logger"
	"github.com/influxdata/telegraf/plugins/inputs"
	"github.com/influxdata/telegraf/plugins/inputs/nvidia_smi"
)

type printer struct{}

func (printer) AddFields(name string, fields map[string]interface{}, tags map[string]string, _ ...time.Time) {
	for tag, value := range tags {
		fmt.Printf("%s tag %s %s\n", name, tag, value)
	}
	for field, value := range fields {
		fmt.Printf("%s %s %v\n", name, field, value)
	}
}
func (p printer) AddGauge(n string, f map[string]interface{}, t map[string]string, w ...time.Time) {
	p.AddFields(n, f, t, w...)
}
func (p printer) AddCounter(n string, f map[string]interface{}, t map[string]string, w ...time.Time) {
	p.AddFields(n, f, t, w...)
}
func (p printer) AddSummary(n string, f map[string]interface{}, t map[string]string, w ...time.Time) {
	p.AddFields(n, f, t, w...)
}
func (p printer) AddHistogram(n string, f map[string]interface{}, t map[string]string, w ...time.Time) {
	p.AddFields(n, f, t, w...)
}
func (printer) AddMetric(telegraf.Metric)                     {}
func (printer) SetPrecision(time.Duration)                    {}
func (printer) WithTracking(int) telegraf.TrackingAccumulator { return nil }
func (printer) AddError(err error)                            { fmt.Println("error", err) }

func main() {
	input := inputs.Inputs["nvidia_smi"]()
	input.(*nvidia_smi.NvidiaSMI).Log = logger.New("inputs", "nvidia_smi", "")
	if i, ok := input.(telegraf.Initializer); ok {
		if err := i.Init(); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	if s, ok := input.(telegraf.ServiceInput); ok {
		if err := s.Start(printer{}); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	if err := input.Gather(printer{}); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}
