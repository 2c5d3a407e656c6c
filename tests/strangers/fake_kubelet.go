// SPDX-License-Identifier: MIT
// Package main is as much of a kubelet as a device plugin needs: it listens, is registered with, asks for devices, allocates the first
// one, and prints each of its healths until it has printed as many as the second argument says.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type kubelet struct {
	pluginapi.UnimplementedRegistrationServer
	came chan *pluginapi.RegisterRequest
}

func (k *kubelet) Register(_ context.Context, r *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	k.came <- r
	return &pluginapi.Empty{}, nil
}

func must(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

func main() {
	k := &kubelet{came: make(chan *pluginapi.RegisterRequest, 8)}
	l, err := net.Listen("unix", os.Args[1])
	must(err)
	s := grpc.NewServer()
	pluginapi.RegisterRegistrationServer(s, k)
	go func() { must(s.Serve(l)) }()
	r := <-k.came
	fmt.Println("resource", r.ResourceName, r.Version)
	c, err := grpc.NewClient("unix://"+pluginapi.DevicePluginPath+r.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(err)
	p := pluginapi.NewDevicePluginClient(c)
	ctx := context.Background()
	w, err := p.ListAndWatch(ctx, &pluginapi.Empty{})
	must(err)
	turns, err := strconv.Atoi(os.Args[2])
	must(err)
	for i := 0; i < turns; i++ {
		list, err := w.Recv()
		must(err)
		for _, d := range list.Devices {
			fmt.Println("device", d.ID, d.Health)
		}
		if i == 0 && len(list.Devices) > 0 {
			a, err := p.Allocate(ctx, &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{
				{DevicesIds: []string{list.Devices[0].ID}}}})
			must(err)
			for name, value := range a.ContainerResponses[0].Envs {
				fmt.Println("env", name, value)
			}
			fmt.Println("allocated")
		}
	}
}
